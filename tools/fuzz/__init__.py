"""Fuzz: every reader is fed damaged files, and may answer with a table or a refusal, nothing else.

    python -m tools.fuzz [--minutes 10 | --cases 100000] [--seed 0] [--only coco,yolo] [--jobs 2]

A good file of each format is a tree: nested lists and objects of its records, cells, elements or
arrays. A case changes the tree in a few places (types, nulls, lengths, names, numbers, nesting,
order), writes it in its format, and may damage the bytes as well (cuts, encodings, marks). What is
read as ground truth or detections is also checked. Whatever leaves a reader that is not an
`InputError` is a failure, and so is more memory or time than a small file can need. A reader that
ends its process leaves its last file behind. COCO files are read by the compiled reader and by its
NumPy twin, which must agree.

Not a fuzzer of memory errors in compiled code: that is ``native/fuzz``.
"""
