//! A language model by candle: logits after each token of texts that are given
//!
//! usage: llama cpu|gpu MODEL.gguf LOGITS [REFERENCE...] <TEXTS
//!
//! A line of TEXTS is a prompt's tokens, a bar and those of its answer; what
//! follows a second bar is passed over. The model reads the prompt at once and then
//! the answer, token by token. LOGITS is written: f32, a row for each token of an
//! answer. A REFERENCE is such a file of another run's. Results are `name value` lines.

use std::fs::File;
use std::io::{BufRead, Write};
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Result, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;

/// The numbers of a part of a line; nothing if it has anything else.
fn tokens(text: &str) -> Option<Vec<u32>> {
    text.split_whitespace()
        .map(|word| word.parse().ok())
        .collect()
}

fn likeliest(logits: &[f32]) -> usize {
    (0..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best })
}

/// One run's logits beside another's of the same texts.
fn compare(ours: &[Vec<f32>], name: &str) -> Result<()> {
    let bytes = std::fs::read(name)?;
    let mut theirs = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().expect("four bytes")));
    let (mut same, mut most, mut squares, mut scale) = (0, 0f64, 0f64, 0f64);

    for row in ours {
        let other: Vec<f32> = theirs.by_ref().take(row.len()).collect();
        assert_eq!(other.len(), row.len(), "{name} is of other texts");
        same += usize::from(likeliest(row) == likeliest(&other));
        let mean = other.iter().map(|&y| f64::from(y)).sum::<f64>() / other.len() as f64;
        for (&x, &y) in row.iter().zip(&other) {
            let apart = f64::from(x) - f64::from(y);
            most = most.max(apart.abs());
            squares += apart * apart;
            scale += (f64::from(y) - mean) * (f64::from(y) - mean);
        }
    }
    println!("compared_with {name}");
    println!("same_tokens {same}");
    println!("largest_distance {most:.5}");
    println!("relative_distance {:.6}", (squares / scale).sqrt());
    Ok(())
}

fn main() -> Result<()> {
    let began = Instant::now();
    let args: Vec<String> = std::env::args().collect();
    let [_, device, model, out, references @ ..] = &args[..] else {
        panic!("usage: llama cpu|gpu MODEL.gguf LOGITS [REFERENCE...] <TEXTS");
    };
    let device = match device.as_str() {
        "cpu" => Device::Cpu,
        _ => Device::new_cuda(0)?,
    };
    let mut file = File::open(model)?;
    let content = Content::read(&mut file)?;
    let mut model = ModelWeights::from_gguf(content, &mut file, &device)?;
    let (mut all, mut expected) = (Vec::new(), 0);
    let (mut seconds, mut steps, mut first) = (0f64, 0, None);

    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line?;
        let mut parts = line.split('|').map(tokens);
        let (Some(Some(mut feed)), Some(Some(answer))) = (parts.next(), parts.next()) else {
            continue; // a comment
        };
        let mut at = 0;

        model.clear_kv_cache();
        for (step, &token) in answer.iter().enumerate() {
            let start = Instant::now();
            let input = Tensor::new(feed.as_slice(), &device)?.unsqueeze(0)?;
            let logits = model.forward(&input, at)?.squeeze(0)?.to_vec1::<f32>()?;

            first.get_or_insert(began.elapsed());
            // Kernels load during the first text; a prompt's first step is another work.
            if number > 0 && step > 0 {
                seconds += start.elapsed().as_secs_f64();
                steps += 1;
            }
            expected += usize::from(likeliest(&logits) == token as usize);
            all.push(logits);
            at += feed.len();
            feed = vec![token];
        }
    }
    let mut file = std::io::BufWriter::new(File::create(out)?);
    for logit in all.iter().flatten() {
        file.write_all(&logit.to_le_bytes())?;
    }
    file.flush()?;
    println!("tokens {}", all.len());
    println!("expected_tokens {expected}");
    if let Some(first) = first {
        println!("seconds_to_first_token {:.3}", first.as_secs_f64());
    }
    if steps > 0 {
        println!("tokens_a_second {:.1}", steps as f64 / seconds);
    }
    references.iter().try_for_each(|name| compare(&all, name))
}
