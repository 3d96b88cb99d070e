"""report_page.py - opens a page of make report in headless Chromium and uses it

    report_page.py CHROMIUM PAGE [SCREENSHOTS]

Speaks the DevTools protocol over a pipe. Each case is a line on failure; the
last line counts. The page must have the kernels that report.sh puts into it.
"""
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile


class Browser:
    def __init__(self, program, profile):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()

        def wire():
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", "--user-data-dir=" + profile, "about:blank"],
            preexec_fn=wire, close_fds=False, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None

    def close(self):
        """Ends the browser and all it started: a helper left over would write into the profile yet."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def message(self):
        while b"\0" not in self.buffer:
            more = os.read(self.read, 1 << 16)
            if not more:
                sys.exit("the browser has gone")
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.number:
                if "error" in got:
                    sys.exit(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def wait_for(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.message())
        self.events = [e for e in self.events if e.get("method") != method]

    def open(self, url):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")
        self.ask("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def run(self, script):
        got = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            sys.exit(f"{script}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def screen(self, width, height, dark):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, screenWidth=width,
                 screenHeight=height, deviceScaleFactor=1, mobile=width < 500)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.run(SETTLED.format(width=width))


# On a busy machine a page takes its time to follow its window. It has the new
# screen when it has the window's size; a page that is too wide never has that.
SETTLED = """new Promise(done => {{ let frames = 10; const look = () => requestAnimationFrame(
  screen.width === {width} && (innerWidth === {width} || !frames--) ? done : look); look(); }})"""

passed, failed = 0, 0


def check(what, ok, got=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}: {got}")


HELPERS = """
globalThis.rows = () => [...document.querySelectorAll('#kernels tbody tr:not(.detail)')];
globalThis.cells = id => { const i = [...document.querySelectorAll('#kernels thead th')].findIndex(t => t.dataset.column === id);
  return rows().map(r => r.children[i].textContent); };
globalThis.numbers = id => cells(id).map(t => Number(t.replace(/ .*/, '').replace(/\\u202f/g, '').replace('\\u2212', '-')));
globalThis.sort = id => document.querySelector(`#kernels th[data-column="${id}"] button`).click();
globalThis.set = (id, value) => { const e = document.getElementById(id);
  if (e.type === 'checkbox') e.checked = value; else e.value = value; e.dispatchEvent(new Event('input')); };
"""

# WCAG's contrast of an element's text with what is behind it.
CONTRAST = """(() => {
  const rgb = t => t.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  let worst = 99;
  for (const e of document.querySelectorAll('h1, h2, p, dt, dd, td, button, label, li, .name, .size, select')) {
    if (!e.textContent.trim() || !e.offsetParent) continue;
    const a = light(rgb(getComputedStyle(e).color).slice(0, 3)), b = light(behind(e).slice(0, 3));
    worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return worst; })()"""


def ordered(values, down):
    return values == sorted(values, reverse=down)


def use(b, compared):
    b.run(HELPERS)
    n = b.run("rows().length")
    check("there are rows", n and n > 3, n)
    check("the heading names the pack", "candle" in b.run("document.querySelector('h1').textContent"))
    check("every module has a bar", b.run("document.querySelectorAll('#bars .bar').length") >= 2)
    for by in ("target", "part", "module"):
        b.run(f"document.querySelector('[data-by={by}]').click()")
        check(f"bars by {by}", b.run("[...document.querySelectorAll('#bars .bar i')].some(i => i.offsetWidth > 20)"))
    for column in ("code", "vgprs", "sgprs", "lds", "instructions"):
        b.run(f"sort('{column}')")
        first = b.run(f"numbers('{column}')")
        state = b.run(f"document.querySelector('th[data-column={column}]').getAttribute('aria-sort')")
        b.run(f"sort('{column}')")
        second = b.run(f"numbers('{column}')")
        check(f"sorted by {column} one way", ordered(first, state == "descending"), first[:8])
        check(f"sorted by {column} the other way", ordered(second, state != "descending"), second[:8])
    b.run("sort('name')")
    names = b.run("cells('name')")
    check("sorted by name", ordered(names, False), names[:8])
    check("numbers are not all nought", max(b.run("numbers('code')")) > 100 and max(b.run("numbers('vgprs')")) > 0)
    check("instruction mixes are drawn", b.run("[...document.querySelectorAll('td.mix .bar')].every(m => m.offsetWidth > 20)"))

    b.run("set('search', 'vector_add')")
    names = b.run("cells('name')")
    check("search leaves what matches", names and all(t == "vector_add" for t in names), names)
    few = len(names)
    check("the count says so", b.run("document.getElementById('count').textContent").startswith(f"{few} of "))
    b.run("set('search', 'vector_add gfx')")
    check("several words all match", b.run("rows().length") == few)
    b.run("set('search', 'nothing is called so')")
    check("search for nothing leaves nothing", b.run("rows().length") == 0)
    b.run("set('search', '')")
    check("search is undone", b.run("rows().length") == n)
    target = b.run("document.querySelector('#target option:nth-child(2)').value")
    b.run(f"set('target', '{target}')")
    got = b.run("cells('target')")
    check("one target alone", got and all(t == target for t in got), got[:4])
    b.run("set('target', ''); set('module', 'vector_add')")
    got = b.run("cells('module')")
    check("one module alone", got and all(t == "vector_add" for t in got), got[:4])
    b.run("set('module', '')")
    b.run("document.querySelector('#kernels tbody button').click()")
    check("a kernel opens", b.run("document.querySelectorAll('.detail').length") == 1)
    b.run("document.querySelector('#kernels tbody button').click()")
    check("and closes", b.run("document.querySelectorAll('.detail').length") == 0)
    if compared:
        states = b.run("cells('state')")
        check("changed, new and gone kernels", set(states) >= {"changed", "new", "gone", "same"}, set(states))
        b.run("set('changed', true)")
        check("changed alone", "same" not in b.run("cells('state')"))
        b.run("set('changed', false)")
        check("the difference of sizes", "difference" in b.run("document.getElementById('cards').textContent"))
    else:
        check("no comparison", b.run("document.getElementById('changed-label').offsetParent === null"))


def use_bounds(b):
    """The three lines that report.sh makes."""
    cells = """(id => { const t = document.getElementById('bounds-table');
      const i = [...t.tHead.rows[0].cells].findIndex(c => c.dataset.column === id);
      return [...t.tBodies[0].rows].map(r => r.cells[i].textContent); })('%s')"""
    check("three bounds", b.run("document.getElementById('bounds-count').textContent").startswith("3 of 3"))
    check("the worst first", b.run(cells % "worst") == ["455", "61", "52"], b.run(cells % "worst"))
    check("what bounds them", b.run(cells % "by") == ["matrix pipe", "DRAM", "DRAM"], b.run(cells % "by"))
    check("bytes in flight", b.run(cells % "flight") == ["156", "1\u202f872", "624"], b.run(cells % "flight"))
    check("how even dies are", b.run(cells % "dies") == ["75", "100", "100"], b.run(cells % "dies"))
    check("they are called bounds", "not times" in b.run("document.getElementById('bounds-about').textContent"))
    bars = b.run("[...document.querySelectorAll('#bounds-table tbody tr:first-child .pipes i')].map(i => i.offsetWidth)")
    check("bars as long as shares", len(bars) == 8 and bars[0] > bars[1] > bars[6] > 10, bars)
    b.run("document.querySelector('#bounds-table th[data-column=us] button').click()")
    check("sorted by the bound", b.run(cells % "us") == ["71.5", "8.738", "2.363"], b.run(cells % "us"))
    b.run("set('bounds-over', true)")
    check("other pipes above 60 %", b.run(cells % "name") == ["mul_mat_q4_0", "uneg_f32"], b.run(cells % "name"))
    b.run("set('bounds-over', false); set('bounds-target', 'gfx942')")
    check("bounds of one target", b.run(cells % "name") == ["badd_f32"], b.run(cells % "name"))
    b.run("set('bounds-target', ''); set('bounds-search', 'BIAS')")
    check("bounds that match", b.run(cells % "name") == ["uneg_f32"], b.run(cells % "name"))
    b.run("set('bounds-search', '')")


def main():
    program, page = sys.argv[1], os.path.abspath(sys.argv[2])
    shots = sys.argv[3] if len(sys.argv) > 3 else None
    # A killed process may still end a write; what it leaves is the test runner's to remove.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        b = Browser(program, profile)
        b.screen_size = None
        b.open("file://" + page)
        b.screen(1280, 900, False)
        compared = "--compared" in sys.argv or os.path.basename(page).startswith("compared")
        use(b, compared)
        if compared:
            check("no bounds", b.run("document.getElementById('bounds').offsetParent === null"))
        else:
            use_bounds(b)
        for width, dark in ((1280, False), (1280, True), (390, False), (390, True), (320, False)):
            b.screen(width, 844, dark)
            name = f"{width} px, {'dark' if dark else 'light'}"
            wide = b.run("document.documentElement.scrollWidth")
            check(f"{name}: no sideways scrolling", wide <= width, wide)
            ratio = b.run(CONTRAST)
            check(f"{name}: text stands out (WCAG AA)", ratio >= 4.5, ratio)
            check(f"{name}: text is not tiny", b.run("Math.min(...[...document.querySelectorAll('td, p, button, dt')]"
                                                    ".map(e => parseFloat(getComputedStyle(e).fontSize)))") >= 12)
            check(f"{name}: {'dark' if dark else 'light'} ground",
                  b.run("getComputedStyle(document.body).backgroundColor") == ("rgb(18, 21, 26)" if dark else "rgb(255, 255, 255)"))
            if shots:
                data = b.ask("Page.captureScreenshot")["data"]
                with open(f"{shots}-{width}-{'dark' if dark else 'light'}.png", "wb") as f:
                    f.write(base64.b64decode(data))
        loud = [e for e in b.events if e.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]
        check("the console is silent", not loud, loud[:2])
        urls = [e["params"]["request"]["url"] for e in b.events if e.get("method") == "Network.requestWillBeSent"]
        other = [u for u in urls if u != "file://" + page and not u.startswith("data:")]
        check("nothing else is fetched", urls and not other, other)
        b.close()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
