# slots.awk - the metadata note of a hand-written kernel
#
#   awk -v name=KERNEL -v segment=BYTES -v lds=BYTES -v vgprs=N -f slots.awk FILE...
#
# The arguments are the lines `// slot TYPE NAME` of the files, each 16 bytes,
# with the padding listed as such kernels do: 8 bytes after a pointer, three
# times 4 after a number. Those that do not fit the segment are left out. The
# kernel descriptor has an argument size of 0 and the version says V3, both as
# in the objects that inference stacks ship.

function entry(argument, offset, size, kind) {
    printf "      - {.name: %s, .offset: %d, .size: %d, .value_kind: %s", argument, offset, size, kind
    if (kind == "global_buffer")
        printf ", .address_space: global"
    print "}"
}
BEGIN {
    print ".amdgpu_metadata"
    print "amdhsa.version: [1, 0]"
    print "amdhsa.kernels:"
    print "  - .name: " name
    print "    .symbol: " name ".kd"
    print "    .kernarg_segment_size: " segment
    print "    .kernarg_segment_align: 4"
    print "    .group_segment_fixed_size: " lds + 0
    print "    .private_segment_fixed_size: 0"
    print "    .wavefront_size: 64"
    print "    .sgpr_count: 48"
    print "    .vgpr_count: " vgprs
    print "    .max_flat_workgroup_size: 256"
    print "    .reqd_workgroup_size: [256, 1, 1]"
    print "    .args:"
}
$1 == "//" && $2 == "slot" && at < segment {
    pointer = $3 == "pointer"
    entry($4, at, pointer ? 8 : 4, pointer ? "global_buffer" : "by_value")
    if (pointer)
        entry("pad", at + 8, 8, "by_value")
    else
        for (i = 4; i < 16; i += 4)
            entry("pad", at + i, 4, "by_value")
    at += 16
}
END { print ".end_amdgpu_metadata" }
