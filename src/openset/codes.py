"""Codes: the catalogue of everything that can be wrong with an input.

One entry per code: what it means, the likely cause and the fix. A finding takes its cause and fix
from here unless it knows better. The hundreds digit names the group (`GROUPS`), or the tens, too.

Not the checks themselves (see `openset.tables.check`), and not their levels: the same code can be
a warning for a few records and an error for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

GROUPS: Mapping[str, str] = {
    "1": "Reading files",
    "2": "Boxes and scores",
    "3": "Labels and roles",
    "36": "Parts and engines",
    "38": "Statistics and selection",
    "39": "Photos and films",
    "4": "Joining ground truth and detections",
    "5": "Scoring",
    "6": "Running and training detectors",
    "7": "Making worlds",
    "8": "Recognition",
    "9": "Benchmarks",
}


class Code(NamedTuple):
    """One entry of the catalogue.

    Attributes:
        code: Stable identifier such as ``OS203``.
        title: A few words.
        meaning: What it means for the numbers.
        cause: The likely cause.
        fix: What to do about it.
    """

    code: str
    title: str
    meaning: str
    cause: str
    fix: str

    @property
    def group(self) -> str:
        """Name of the group the code belongs to."""
        return GROUPS.get(self.code[2:4]) or GROUPS[self.code[2]]


_SCALE = "boxes were predicted on resized images, or are in another layout than x, y, width, height"
_LAYOUT = "state the convention: boxes='xyxy', 'cxcywh', 'xyxy-norm' or 'xyxy-letterbox-640'"

_ENTRIES = (
    Code("OS101", "file missing", "There is no file at the path.",
         "a misspelt path, or a path relative to another folder", "give the path of a file"),
    Code("OS102", "file unreadable", "The file exists but cannot be read or decoded.",
         "a truncated download, a broken export, or missing read permission",
         "open the file at the place named and repair it, or export it again"),
    Code("OS103", "folder in place of a file", "A file was expected but the path is a folder.",
         "the folder of a data set was given", "name the annotation or detection file in it"),
    Code("OS104", "content not recognised", "The content is in none of the known formats.",
         "a format that is not supported, or a file with another extension than its content",
         "name the format, or convert the file to COCO JSON"),
    Code("OS105", "detections given as ground truth", "The ground truth holds detection records.",
         "the two files were swapped", "give the ground truth first, then the detections"),
    Code("OS106", "ground truth given as detections", "The detections hold ground-truth records.",
         "the two files were swapped", "give the ground truth first, then the detections"),
    Code("OS107", "key missing", "A record lacks a value that the format requires.",
         "a partial export, such as detections without scores", "write the key for every record"),
    Code("OS108", "wrong type", "A value has another type than the format requires.",
         "numbers written as text, or a nested list that should be flat",
         "write the value with the type named"),
    Code("OS109", "broken XML", "An XML file is not well formed.",
         "a truncated file, or an unescaped character", "repair the file at the place named"),
    Code("OS110", "image sizes needed", "The format has relative boxes and the sizes are unknown.",
         "formats such as YOLO text do not store the size of an image",
         "give the images, or a ground truth that states width and height"),
    Code("OS111", "duplicate ids", "Two images or two categories share an id.",
         "files were concatenated without renumbering", "give every record its own id"),
    Code("OS112", "dangling reference", "A record refers to an image or category that is absent.",
         "a subset of the images was written without its annotations, or the reverse",
         "add what they refer to, or remove the records, if the others are numbered as the list"),
    Code("OS113", "unsafe file name", "A file name leaves the folder it should be in.",
         "an absolute path or '..' in a file name", "use names relative to the image folder"),
    Code("OS114", "not a result", "The file is not a result of openset, or of another schema.",
         "another JSON file, or a result of another version",
         "write results with `openset evaluate -o` or Evaluation.to_json, and read them with the "
         "same version"),
    Code("OS115", "last layer cannot be used", "The head that travels with detections is damaged, "
         "or not of the shape of their embeddings, logits and classes.",
         "the file's metadata was changed, or columns were replaced by another program",
         "run the detector again, or write the detections without it"),
    Code("OS116", "unpacks to far more than it is", "The file is small and claims a content that "
         "no data compresses to; it is not unpacked.",
         "a file made to fill memory, or a damaged header",
         "get the file anew; give real data of that kind unpacked"),
    Code("OS117", "class number out of proportion", "A class has a number that would need a list "
         "of millions of names.", "ids of another kind, or a damaged file",
         "number classes from 0, and name each"),
    Code("OS118", "XML of something else", "The file is XML, but no VOC annotation: it would count "
         "as an image without objects.", "a web page that was saved in place of a download",
         "download the file again, or take it out of the folder"),
    Code("OS119", "header among the rows", "A row repeats the names of the columns: it is no box.",
         "files were put one after the other, each with its header (cat a.csv b.csv)",
         "leave the header out of all but the first, or join files with openset select"),
    Code("OS120", "ids in scientific notation", "Long numbers were rounded to a few digits: which "
         "image is meant is lost.", "a spreadsheet opened the file and saved it",
         "export again without a spreadsheet, or with its columns of ids as text"),
    Code("OS121", "lists of classes contradict", "Classes are numbered, and two lists name numbers "
         "otherwise, or a list is not as long as it says: every class may be another one.",
         "the list of another data set was copied beside the labels, or names were sorted",
         "leave the list that is of these labels"),
    Code("OS122", "not kept", "The file that was written lacks what the one that was read has.",
         "masks and keypoints are skipped, or the format has no place for a column or a flag",
         "openset convert --everything keeps masks and keypoints; coco and parquet keep columns"),
    Code("OS125", "something else was replaced", "What was written stands where something else "
         "was. What openset had written is gone, and its command is said; any other file has a new "
         "name.",
         "the same -o for other inputs or other options",
         "nothing, if it is intended; the command that is named makes the earlier one again"),
    Code("OS126", "results of two detectors in one folder", "A class has two files of results for "
         "one split: every object would be found twice.",
         "results of two methods, or competitions, were written to one folder",
         "give each a folder of its own"),
    Code("OS201", "box is not finite", "A coordinate is NaN or infinite, so no overlap exists.",
         "a division by zero, or an overflow in half precision",
         "repair the export; drop_invalid=True leaves such records out"),
    Code("OS202", "score is not finite", "A score is NaN or infinite, so it cannot be ranked.",
         "an overflow in half precision, or a logarithm of zero",
         "repair the export; drop_invalid=True leaves such records out"),
    Code("OS203", "normalised boxes", "Boxes lie in the unit square while images are in pixels.",
         "the boxes are normalised by the size of the image",
         "boxes='cxcywh-norm', 'xywh-norm' or 'xyxy-norm' converts them"),
    Code("OS204", "corners read as sizes", "Boxes leave their image as x, y, width, height and fit "
         "it as x1, y1, x2, y2.", "the detector writes corners", "boxes='xyxy' converts them"),
    Code("OS205", "negative size", "A box has a negative width or height and matches nothing.",
         "width was computed as x1 - x2, or corners were written in another order",
         "repair the records; drop_invalid=True leaves them out, boxes= names another layout"),
    Code("OS206", "empty box", "A box has no area: it overlaps nothing.",
         "boxes were rounded or clipped to nothing", "leave such boxes out of the file"),
    Code("OS207", "box far outside its image", "A box reaches more than a quarter of the image's "
         "side beyond the border.", _SCALE, _LAYOUT + ", or scale the boxes back to the image"),
    Code("OS208", "score outside 0..1", "Score thresholds of protocols expect 0..1.",
         "percentages, logits or another unbounded score",
         "write probabilities; force=True ranks by the scores as they are, drop_invalid=True "
         "leaves single ones out"),
    Code("OS209", "all scores are equal", "Nothing can be ranked: precision depends on file order.",
         "labels were exported in place of detections, or the score was lost",
         "write the confidence of each detection"),
    Code("OS210", "duplicate detections", "The same image, label and box occur again; each further "
         "one is a false positive.", "files were concatenated, or a batch was evaluated twice",
         "remove the duplicates"),
    Code("OS211", "object larger than its image", "An area exceeds the area of the image, so size "
         "ranges are wrong.", "the size of the image or the area was taken before resizing",
         "correct area, width or height in the ground truth"),
    Code("OS212", "area is no area", "A negative area, or one that is not a number, is in no range "
         "of sizes, so AP leaves the object out; of area 0, an object counts as small.",
         "corners in another order, a mask that was lost, or -1 written for unknown",
         "correct the area, or leave it out: width x height takes its place; force=True evaluates "
         "as it is"),
    Code("OS213", "image without a size", "A width or height that is not positive counts as "
         "unknown: no box is checked against it.", "0 or -1 was written for unknown",
         "write the size of the image in pixels, or leave it out"),
    Code("OS214", "detections below the minimum score", "They are left out before anything else, "
         "so recall can only fall.", "minimum_score= was given",
         "nothing, if it is intended; results compare at the same minimum_score= only"),
    Code("OS215", "boxes fit in another convention", "Boxes lie on objects when they are read in "
         "another convention than the one given, and hardly any as they are read.",
         "the detector writes boxes in another layout, or of resized, padded or turned pictures",
         "boxes= names the convention; force=True evaluates as they are"),
    Code("OS216", "objects twice", "The same object is in the ground truth under two ids: one of "
         "them is missed for certain.",
         "annotation files were merged, or an object was annotated by two people or tools",
         "keep one annotation of each object"),
    Code("OS217", "detections twice, in another precision", "Nearly the same detections occur "
         "again; each further one is a false positive.",
         "files of the same detections with other digits were concatenated",
         "keep one of the files"),
    Code("OS218", "scores cut", "Detections of lower scores are not in the file, so that AP, "
         "recall, A-OSE and unknown recall are those of the cut, and detectors cut elsewhere do "
         "not compare.",
         "a detector that ran at the threshold of a demo, or an export of sure boxes alone",
         "export from a score of 0.001 to 0.05; minimum_score=... says that it is meant"),
    Code("OS219", "width and height exchanged", "Objects end beyond their images, and fit once "
         "width and height are exchanged: what is a share of an image would be wrong.",
         "the shape of an array, which has the height first, was written as width and height",
         "exchange width and height of the images in the ground truth"),
    Code("OS220", "scores too coarse to rank", "Boxes of one score are ranked by their order in "
         "the file: AP, recall and precision at a score depend on it.",
         "scores were written with one digit (%.1f, round(score, 1)), or in a few steps",
         "write scores with four digits or more; nothing, if the detector has no finer ones"),
    Code("OS225", "scores scaled in each image", "The best box of every image is as sure as any: "
         "scores of two images cannot be compared, and AP, precision and recall at a score are of "
         "places within images.",
         "scores were divided by the largest of their image, or are a rank in it (1, 1/2, 1/3)",
         "write the scores as the detector gives them; nothing, if its best box is always so sure"),
    Code("OS226", "scores of a class cut", "Boxes of low scores are there of other classes and not "
         "of these: their AP and recall, and open-set errors under their names, are of that cut.",
         "a threshold for these classes was applied when the file was written",
         "export all classes from one score; nothing, if the detector decides so"),
    Code("OS227", "scores scaled in each class", "The best box of every class is as sure as any: "
         "scores of two classes cannot be compared, and what ranks boxes of several, unknown ones "
         "among them, is of places within classes.",
         "scores were divided by the largest of their class",
         "write the scores as the detector gives them"),
    Code("OS228", "boxes on a coarse grid", "Boxes meet their objects less closely than the "
         "detector said: AP at high overlaps is that of the grid.",
         "coordinates of a feature map were cast to whole numbers before they were multiplied by "
         "its stride",
         "multiply first, and write numbers with a fraction"),
    Code("OS229", "scores of two kinds", "A part of the images has no low score, and the others "
         "have: boxes of one part outrank those of the other, or are not there to be found, and AP "
         "is of the mixture.",
         "two programs wrote the file, one of which cut at a threshold, or scaled scores otherwise",
         "write all images by one program; nothing, if the first and the last images are so unlike"
         ),
    Code("OS230", "boxes moved or resized alike", "Boxes lie on objects once all of them are "
         "moved, or resized, by the same amount, and hardly any as they are.",
         "an offset or a factor that was not undone: a crop, a bar, half sizes",
         "undo it where boxes are written; force=True evaluates as they are"),
    Code("OS231", "boxes of a second pass not turned back", "The file has the boxes of two passes "
         "over the images, and those of one lie on objects only if they are read in another way.",
         "test-time augmentation whose boxes were added as they were found",
         "turn the boxes of each pass back and suppress what overlaps, or give one pass; "
         "force=True evaluates as it is"),
    Code("OS232", "two detectors in one file", "Boxes of one label lie on each other across "
         "passes through the images, or two by two where nothing tells passes: all but one count "
         "as wrong.",
         "the results of two detectors, epochs or scales were put into one file",
         "give each detector a file of its own, or suppress what overlaps; force=True evaluates "
         "as it is"),
    Code("OS233", "boxes carried on to other images", "Images have the boxes of an image before "
         "them beside their own, digit by digit: as many again count as wrong.",
         "a list that a loop fills and does not empty for each image or batch",
         "begin with an empty list for every image; force=True evaluates as it is"),
    Code("OS240", "areas of another scale", "Small, medium and large objects are told apart by "
         "area in pixels; these are not of the boxes, so that all would be of one size.",
         "areas are shares of the image, or of images that were resized",
         "write area in pixels of the image, or leave it out: then it is width x height"),
    Code("OS241", "objects of smaller pictures", "No object reaches the right or the bottom of its "
         "image as it is stated: boxes are those of smaller pictures, and where these are at hand "
         "they are scaled once more.",
         "boxes were resized with the pictures, and width and height were not",
         "write the width and height of the pictures that the boxes are in; nothing, where "
         "pictures were padded at the right and the bottom"),
    Code("OS245", "boxes in hundredths of their image", "Boxes are rounded to a hundredth of the "
         "image, some pixels: small ones overlap their object less than the detector's did, and AP "
         "at high IoU falls.", "shares were written with two digits (%.2f, round(x, 2))",
         "write six digits, as YOLO does; nothing, if boxes are no finer by nature"),
    Code("OS246", "objects are whole images", "All objects have the box of their image: nothing is "
         "located, and any large box is right.", "labels of images, or of a classifier's data set, "
         "were written as boxes", "give a ground truth with boxes; force=True evaluates as it is"),
    Code("OS250", "scores a row off", "Scores fall within an image, and rise beside the row where "
         "the next begins: each box has the score of its neighbour, or the image of it.",
         "a column slipped by a row, as where one header was deleted or a list was shifted",
         "write the table again from its columns; the first or the last row tells which slipped"),
    Code("OS251", "objects of pictures that lie on their side", "Objects of all images of one "
         "orientation leave them, and fit once width and height are exchanged: no box on the "
         "upright picture meets them.",
         "one tool read the orientation that a photo has in EXIF, and the other did not",
         "turn the boxes of these images by 90 degrees, or state the size of the pictures as they "
         "were annotated, and detect on them so"),
    Code("OS301", "roles not stated", "Nothing says which labels the detector was taught.",
         "no category is named 'unknown', none has a role, and info.openset is absent",
         "pass known='voc20' (or another built-in), a list of labels, or a vocabulary file"),
    Code("OS302", "no unknown objects", "Metrics about unknown objects have no value (None).",
         "a closed-set ground truth, or every label was listed as known",
         "give a ground truth with unknown objects, or list fewer labels in known="),
    Code("OS303", "no known objects", "Metrics about known classes have no value (None).",
         "known= lists other labels than the file, or the file holds unknown objects only",
         "correct known=, or evaluate together with images that hold known objects"),
    Code("OS304", "known class without objects", "The class has no average precision and is left "
         "out of means.", "a subset of the images, or a rare class", "nothing, if it is expected"),
    Code("OS305", "detections of classes that are unknown here", "The detector names classes that "
         "it should never have seen: these objects are not unknown to it.",
         "the detector was trained on them",
         "leaked='unknown' counts them as unknown, leaked='drop' removes them; or add them to "
         "known="),
    Code("OS306", "labels absent from the ground truth", "The detections match no class and are "
         "left out.", "the detector and the ground truth use different lists of categories",
         "write the category ids, or the names, of the ground truth"),
    Code("OS307", "categories numbered differently", "The ids are positions in a list, not the ids "
         "of the ground truth: every class is shifted to another.",
         "the detector writes the index of the class",
         "map each index to the id of the category, in a file (category_ids='FILE') or where it "
         "is written; force=True evaluates as it is"),
    Code("OS308", "known class without detections", "The recall of the class is zero.",
         "the class is missing from the detector's list, or scores are below its threshold",
         "compare the detector's labels with known="),
    Code("OS309", "nothing is detected as unknown", "Unknown recall is 0 by construction.",
         "a closed-set detector, or its unknown boxes were not exported",
         "export boxes labelled 'unknown', or an unknownness score that a protocol can threshold"),
    Code("OS310", "known labels absent from the ground truth", "The vocabulary lists labels that "
         "the file does not have.", "another spelling, or another data set than known= is for",
         "correct known=, or state synonyms in a vocabulary file"),
    Code("OS311", "several spellings of unknown", "They are merged into one unknown class.",
         "files of several sources were combined", "use one spelling: 'unknown'"),
    Code("OS312", "ignored labels", "Their objects take no part in the evaluation, nor do "
         "detections that have such a label or lie on such an object.",
         "the vocabulary gives them the role 'ignored'", "nothing, if it is intended"),
    Code("OS313", "several labels are one class", "They are merged into one known class.",
         "synonyms or spellings of one name in the ground truth",
         "rename one of them, if they are different classes"),
    Code("OS314", "no detection has the label for unknown", "The label that is said to mean "
         "unknown does not occur: nothing is detected as unknown by it.",
         "another spelling, or the id of a category that has a name",
         "name one of the labels that there are in unknown_label="),
    Code("OS315", "numbers, but the ground truth has names", "Which number is which name is stated "
         "nowhere: any answer would be a guess.", "ground truth in a format without category ids "
         "(VOC, YOLO, Open Images), detections in one with them (COCO)",
         "give a COCO file of these ids, or a JSON or CSV file that maps each to a name: "
         "category_ids='FILE'"),
    Code("OS316", "labels name other classes", "Boxes fit, but the objects under a label are of "
         "one other class: every number by class would be wrong.", "another list or order of "
         "classes, or ids that are off by one", "say what the labels mean: category_ids='index', "
         "'index1' or a JSON or CSV file that maps them; force=True evaluates as it is"),
    Code("OS317", "label without a category", "What category_ids= says of a label cannot be: a "
         "position beyond the list, or an id that the ground truth lacks.", "another list of "
         "classes, or a count from 1 in place of 0",
         "map every label of the detections, or list the detector's classes: names='data.yaml'"),
    Code("OS318", "scores look upside down", "Right boxes score lower than boxes on background.",
         "a distance, a background probability or a rank was written as score",
         "write a confidence: larger = more certain; ignore this if it is one"),
    Code("OS319", "unknownness looks upside down", "Boxes on unknown objects look less unknown "
         "than right ones on known objects.", "a confidence or a log-density was written as "
         "unknownness",
         "write it negated: larger = more unknown; ignore this if the scorer is that bad"),
    Code("OS320", "category ids changed", "Two data sets give one id to different classes, or one "
         "class different ids: one of them had to give way.", "data sets that are numbered "
         "independently were joined", "write detections by name, or by the ids of the built file; "
         "bundle.json lists old and new"),
    Code("OS326", "detections on ignored objects", "They are neither right nor wrong: they take no "
         "part, unless they are right about, or lie rather on, an object that counts.",
         "the vocabulary gives the labels of these objects the role 'ignored'",
         "nothing, if it is intended"),
    Code("OS327", "unknown classes listed as known", "known= lists classes that the detector never "
         "names, or that the ground truth states to be unknown: known and unknown are exchanged.",
         "the list of the unknown classes was given, or that of another task",
         "give in known= the labels that the detector was taught; force=True evaluates as it is"),
    Code("OS328", "label for unknown is a known class", "Every detection of that class would count "
         "as unknown.", "the id or name of another label", "name in unknown_label= the label with "
         "which the detections say unknown, or leave the class out of known="),
    Code("OS329", "vocabulary among labels", "The name of a vocabulary is no label.",
         "a built-in was extended by further labels", "give the vocabulary alone, or labels alone"),
    Code("OS330", "labels of some images mean other classes", "In many images every label is on "
         "objects of one other class, and in the others labels are right: no detector fails so.",
         "files of two detectors, of two lists of classes, or of two versions of the annotations, "
         "were put together",
         "number the classes of both parts alike; force=True evaluates as it is"),
    Code("OS331", "one label for every box", "All boxes have one label, and the surest of them lie "
         "on objects of other classes: AP by class means nothing.",
         "proposals, or detections that were exported without their classes",
         "write the class of each detection; label boxes of no class \"unknown\""),
    Code("OS332", "scores tell nothing", "Right boxes score no higher than boxes on background.",
         "scores were sorted by themselves, or written apart from their boxes",
         "write each score beside its box; ignore this if the detector is that bad"),
    Code("OS333", "logits of classes that are unknown here", "The detector has columns for classes "
         "that it should never have seen: these objects are not unknown to it, and unknownness "
         "made of the logits knows them by name.",
         "boxes of known classes alone were taken from a detector that was taught more",
         "train a detector on the known classes; openset score --known restricts the logits, and "
         "says that they were more"),
    Code("OS334", "label that says it is no class", "Regions that nobody annotated, or that do not "
         "count, are a category of their own: they would be objects that can be missed.",
         "regions to be left out were written as a category (DontCare of KITTI, ignored regions of "
         "VisDrone)",
         "write iscrowd=1 for these objects, or give a vocabulary file (TOML) with known = [...] "
         "and ignored = [...]; nothing, if it is a class"),
    Code("OS335", "class that is found and not annotated", "A known class has no object at all, "
         "and the detector names it surely where there is nothing: it has no average precision.",
         "annotations of the class were lost (`if category_id:` drops class 0), or nobody "
         "annotated it here",
         "write the objects of the class; or leave it out of known=, and its boxes out of the file "
         "(openset select --classes)"),
    Code("OS336", "categories named as others", "Names of categories contradict their numbers or "
         "their super-classes: roles, and detections by name, would be those of other classes.",
         "names were sorted, or listed anew, and numbers and annotations kept",
         "give each category its own name again, from the file before names were changed; "
         "force=True evaluates as it is"),
    Code("OS337", "one class under two names", "Objects of a known class that go by another name "
         "are unknown here: right boxes on them are open-set errors, and A-OSE is of a spelling.",
         "two annotators or files called one class differently",
         "write one name in the ground truth, or state the other in a vocabulary file (TOML): "
         "synonyms = [[\"person\", \"persons\"]]; nothing, if these are other things"),
    Code("OS338", "label of a missing value", "A word for nothing, such as nan, stands where a "
         "label should: it is read as the name of a class, which is unknown.",
         "an empty cell or None was written as text",
         "write the label of these records, or leave them out; nothing, if it is the name of a "
         "class"),
    Code("OS339", "unknownness ranks nothing", "Separation of known and unknown is measured at "
         "every threshold; one value has none, and two have one.",
         "a constant, or a decision, was written in place of a score",
         "write the score before the threshold, or openset score makes one from logits; ignore "
         "this if the detector decides so"),
    Code("OS340", "classes are numbered, not named", "Numbers of classes were taken for places in "
         "the list of the ground truth.",
         "text files of YOLO have no names, and nothing beside them says which class is which",
         "state the order of the detector's classes: names='data.yaml'"),
    Code("OS341", "detections without confidence", "All count as 1, so that nothing ranks them.",
         "predictions were saved without their confidences",
         "save them again with confidences: save_txt=True save_conf=True"),
    Code("OS342", "pictures of another size", "Boxes found were scaled to the size that the ground "
         "truth says, boxes taught to that of the pictures; in pictures of another shape they may "
         "lie elsewhere all the same.",
         "pictures were resized, or turned by their EXIF tag, after they were annotated; or they "
         "are another data set's, of the same names",
         "nothing, if the shape is the same; else use the pictures that were annotated"),
    Code("OS343", "evidence of other rows", "Logits or embeddings are not one row per detection.",
         "boxes were filtered or sorted after their logits were kept, or before",
         "keep both from the same boxes, in one order"),
    Code("OS344", "columns of logits not named so", "Which column is which class is not said, or "
         "a known class has none.",
         "the detector calls its classes differently, or nothing lists them",
         "list the classes of the detector in the order of its columns: classes in the .npz"),
    Code("OS345", "logits of other boxes", "The largest logit of a box has nothing to do with its "
         "label, means another class throughout, or makes the score of another box, or in another "
         "layout.",
         "rows in another order than the boxes, or columns in another order than the classes",
         "keep boxes and logits in one order; list the classes in the order of the columns"),
    Code("OS346", "labels of other boxes", "Boxes and scores fit, and an image has the labels of "
         "its objects, but which box has which is as if drawn: every number by class is too low.",
         "boxes and scores were filtered or sorted, as by suppression, and labels were not",
         "index labels like boxes: labels[keep]; ignore this if the detector tells classes of "
         "images, and not of boxes"),
    Code("OS347", "known boxes again as unknown", "A box that is said to be known and unknown with "
         "one score is no answer: what is right counts as wrong beside it.",
         "each box was written once per class, or with every label of a row of scores",
         "write each box once, as unknown only where the detector says so"),
    Code("OS348", "known objects again as unknown", "An object that the ground truth calls known "
         "and unknown makes its right box an open-set error, and it can never be found as unknown.",
         "pseudo labels, or regions of any object, were added as unknown without those of known "
         "objects; or classes have super-classes (Open Images) that are unknown here",
         "leave out unknown objects whose box is that of a known one (IoU 0.9); super-classes are "
         "left out by a known= file with ignored = [...], or by openset select --classes"),
    Code("OS349", "unknown boxes on nothing", "What boxes that are called unknown meet, they meet "
         "by chance: boxes of other images meet as much.",
         "'no object' (DETR's last column), or background, is read as unknown; or these boxes are "
         "of other images",
         "leave these boxes out, or name another unknown_label=; ignore this if the detector is "
         "that bad"),
    Code("OS350", "a known class for unknown", "Boxes of one known class lie on objects of all the "
         "classes that no other label names: they are open-set errors, though the detector said "
         "unknown.",
         'the detector says "unknown" by a number that is another class of the ground truth',
         "map it: category_ids='FILE'; or write the number of \"unknown\" in the ground truth"),
    Code("OS360", "several manifests", "Which of them the parts belong to cannot be told.",
         "two folders of parts were copied into one, or a manifest was kept under another name",
         "leave the manifest that the parts were written with, as manifest.json"),
    Code("OS361", "parts of another model", "Parts of one folder come from one model, with "
         "the same options, on the same images; these do not.", "the folder of an earlier run was "
         "given again, or parts were copied from another",
         "write to another folder, or remove this one"),
    Code("OS362", "part listed twice", "Its rows would count twice.",
         "manifests were joined by hand", "openset merge joins folders of parts"),
    Code("OS363", "part is not the one that was written", "Its checksum or its rows are not "
         "those of the manifest: other boxes would be counted.", "a truncated copy, or a part that "
         "was written again", "copy the part again, or remove it and give its command again"),
    Code("OS364", "images in no part, or in two", "The parts do not hold exactly the images of the "
         "ground truth, in its order.", "another version of the ground truth, or parts of another "
         "split", "openset convert FOUND --truth GT --to parts -o DIR makes parts that fit"),
    Code("OS365", "parts are missing", "Some parts are not done, or their files are gone.",
         "a job that was stopped, or shards that are still running",
         "give the command again: finished parts are kept; openset merge joins folders of shards"),
    Code("OS366", "cluster cannot be reached", "No Ray answers at the address.",
         "it has not been started, or stands behind a firewall",
         "ray start --head, or leave --address away: Ray is then started here"),
    Code("OS367", "workers are lost", "Processes that do the work end again and again before they "
         "have done any.", "memory: the system ends the largest process",
         "fewer workers, or smaller parts (--per-part)"),
    Code("OS368", "parts of two runs", "Folders hold the same parts with different rows: they are "
         "not the shards of one run, and joined they would be a mixture.",
         "two detectors, or two runs of one, were given",
         "give the folders that the shards of one run have made; openset evaluate takes several "
         "detectors, one beside the other"),
    Code("OS371", "unknownness of images", "All boxes of an image share one unknownness: known "
         "and unknown objects in one image cannot be told apart; AUROC tells images apart.",
         "a score of the whole image was copied to its boxes",
         "write a score of each box, or openset score makes one from logits; ignore this if "
         "images are meant"),
    Code("OS372", "unknownness counts rows", "A number of the row or of the box, a time or a "
         "counter says nothing about what a box is on.", "another column was named as unknownness",
         "name the column of the scorer: --unknownness NAME; openset score makes one from logits"),
    Code("OS373", "unknownness tells nothing", "Unknownness has to do neither with what boxes are "
         "on nor with their scores: AUROC is one half.",
         "another column was named as unknownness, or it was written beside other boxes",
         "name the column of the scorer, and write it beside its boxes; nothing, if the scorer is "
         "that bad"),
    Code("OS374", "mapping of labels looks reversed", "A mapping goes from what detections say to "
         "what the ground truth calls it; this one goes from the ground truth.",
         "keys and values were exchanged when it was written",
         "exchange both sides: the detector's label first, then the ground truth's"),
    Code("OS375", "unknownness filled in", "Many boxes share a value that no other comes near, or "
         "that all boxes of some images have: known and unknown objects among them cannot be told "
         "apart, and AUROC is in part that of the value.",
         "missing values were filled (fillna(0), -1 for none) after a join that lost rows, or "
         "what was below some threshold was not scored",
         "score these boxes too, or leave out the images without scores: openset select --images "
         "LIST; nothing, if the scorer gives that value by itself"),
    Code("OS377", "unknownness scaled in each image", "Every image has a box that looks most, or "
         "least, unknown: values of two images cannot be compared, and AUROC and FPR are of places "
         "within images.",
         "unknownness was scaled to 0..1 image by image, or divided by its largest there",
         "scale it with the same numbers on all images, or not at all: only its order counts"),
    Code("OS380", "scores are no probabilities", "Calibration compares scores with shares of right "
         "boxes, and these lie outside of 0 and 1.", "the file holds logits, or per cent",
         "write scores from 0 to 1"),
    Code("OS381", "one id for different images", "Files to be joined use an image id for images of "
         "different file names: objects of both would lie on one.",
         "each file numbers its images from 1", "give images distinct ids before you join them"),
    Code("OS382", "not there to select", "A class or an image that was asked for is in no file.",
         "a misspelt name, or another split", "openset describe GT lists what there is"),
    Code("OS383", "nothing is left", "What was asked for leaves no image, or no box.",
         "filters that exclude each other, or a share of few images", "ask for more"),
    Code("OS384", "images in several files", "Files to be joined share images; the objects of all "
         "are put on them.", "splits of the same images, or the same file twice",
         "openset check finds objects that stand there twice"),
    Code("OS385", "other roles in other files", "Files to be joined give a label different roles; "
         "the first file's is kept.", "splits of different tasks",
         "state roles when you evaluate: --known"),
    Code("OS387", "nothing tells unknown from known", "All boxes above the least score are shown "
         "as known.", "detections as a detector of known classes gives them",
         "say from which unknownness a box is unknown: --unknown-from 10%, or a threshold that "
         "openset score --calibrate finds on held-out images"),
    Code("OS390", "film cannot be read", "OpenCV does not open it, or finds no frame.",
         "a damaged file, or a codec that this OpenCV was built without",
         "convert it to MP4 with H.264, or give a folder of its frames"),
    Code("OS391", "film ends early", "It has fewer frames than it says; those that are there were "
         "run on.", "a recording or a download that was stopped", "nothing, or get the whole file"),
    Code("OS392", "pictures of formats that are not read", "They are in the folder, and were left "
         "out.", "photos as phones and cameras store them", "convert them to JPEG or PNG"),
    Code("OS393", "images without pixels", "They can be browsed with their boxes alone.",
         "another folder, or images that were moved or are damaged",
         "--images with the folder that the file names start from"),
    Code("OS394", "other pictures than were detected on", "Boxes are drawn on pictures that the "
         "detector did not see.",
         "pictures of another data set, or version, of the same names; or they were compressed "
         "again",
         "--images with the folder that openset run was given; nothing, if they show the same"),
    Code("OS401", "ground truth is empty", "There is no object to evaluate against.",
         "an empty or filtered file", "give a ground truth with at least one object"),
    Code("OS402", "no detections", "There is no detection to evaluate.",
         "an empty file, a score threshold above every score, or a model that was hardly trained, "
         "or has diverged",
         "export detections with a low score threshold; if there are none, look at the losses of "
         "the training (log.jsonl)"),
    Code("OS403", "detections on other images", "They are left out: their image is not in the "
         "ground truth.", "another split, or image ids of another numbering",
         "write the image ids or the file names of the ground truth"),
    Code("OS404", "images without detections", "Their objects count as missed.",
         "the detector found nothing there, or did not run on them", "nothing, if it is expected"),
    Code("OS405", "images without objects", "Every detection there is a false positive.",
         "negative images, or annotations that were lost", "nothing, if it is expected"),
    Code("OS406", "duplicate annotation ids", "Safe here; other evaluators lose matches.",
         "files were concatenated without renumbering", "give every annotation its own id"),
    Code("OS407", "annotation id 0", "Safe here; pycocotools takes a match with id 0 for none.",
         "annotations are numbered from 0", "number annotations from 1 to be safe elsewhere"),
    Code("OS408", "more than 100 detections per image and class", "The COCO protocol keeps the 100 "
         "with the highest scores.", "no limit per image in the detector",
         "nothing, or choose a protocol= without the limit"),
    Code("OS410", "no detection overlaps an object", "Every metric would be zero.",
         _SCALE, _LAYOUT + "; check that images join the right way; force=True evaluates anyway"),
    Code("OS411", "image list and ground truth differ", "How often an image counts cannot be told.",
         "the list of another split, or a protocol that counts repeated lines without any list",
         "give the list that the images were taken from (--image-list), or build the benchmark, "
         "whose files state it"),
    Code("OS412", "images look like frames of sequences", "Frames of one video say nearly the "
         "same: drawn one by one, intervals are too narrow and stars too many.",
         "file names that count up behind a common beginning, and no groups",
         "groups= names what draws the frames of a sequence together; nothing, if they are "
         "unrelated"),
    Code("OS413", "images without a group", "What they are to be drawn with cannot be told.",
         "a column that some records lack, or a pattern that some file names do not fit",
         "state a group for every image; force=True lets each of them stand alone"),
    Code("OS414", "one group only", "Resamples would all be alike: there are no intervals, no "
         "p-values and no stars.", "a column that is the same for all images, or a single video",
         "name a column that tells sequences apart, or leave out groups="),
    Code("OS415", "no such column for groups", "Images cannot be grouped by it.",
         "a misspelt name, or a format that does not keep columns of images",
         "name a column, a regular expression with one group in brackets, or how file names begin, "
         "such as '*/'"),
    Code("OS416", "every image is a group", "Resamples of groups are those of images.",
         "a column or pattern that tells every image from every other",
         "name a column that frames of one sequence share, or leave out groups="),
    Code("OS417", "a training given twice", "The same detections are not two trainings: the spread "
         "of trainings would come out too small.",
         "a file was named twice or copied, or both trainings had the same seed, or found "
         "nothing", "give each training once, and train with different seeds, longer if need be"),
    Code("OS418", "not trainings of one method", "Trainings are averaged only if they differ in "
         "nothing but chance: test images, vocabulary, protocol and resamples are the same.",
         "results of different test sets, settings or seeds of the resamples were put together",
         "evaluate all trainings in one command, or with the same options"),
    Code("OS419", "one training beside several", "What another training would change is not known, "
         "and in no interval of that method.", "it was trained once",
         "train it again with other seeds, or read its stars as being about this training"),
    Code("OS420", "a level that cannot be", "A recall, a true-positive rate or a wilderness ratio "
         "was asked for at which no metric can stand.",
         "a percentage, a zero, or a level given twice",
         "give recalls and rates above 0 and up to 1, ratios, each once: --recall 0.5,0.8"),
    Code("OS421", "a level that no metric takes", "Nothing that was asked for stands at such a "
         "level.",
         "a metric without one, or --metrics that names none with it",
         "ask for a metric that takes it, as its explanation says: openset explain NAME"),
    Code("OS423", "image ids fit another reading", "Boxes lie on objects when image ids are read "
         "otherwise: as they are read, they are joined with other images.",
         "the detector writes places in a list, numbers of file names, or ids that are one off",
         "image_ids= names the reading; force=True evaluates as they are"),
    Code("OS424", "boxes lie on objects by chance only", "Detections overlap objects of their own "
         "images no better than those of other images, under every reading.",
         "image ids were shuffled or belong to another data set, or the detector learned nothing",
         "check which images the boxes were predicted on; force=True evaluates anyway"),
    Code("OS425", "images twice", "The same image is in the ground truth under two ids: detections "
         "of one do not count for the other, and it weighs twice.",
         "files were merged, or frames of a film are alike", "keep each image once"),
    Code("OS426", "detections end before the images do", "No image after a certain one, or before "
         "it, has a detection, far more than by chance: their objects count as missed.",
         "the detector stopped, its file was cut off, or a part of it was lost",
         "run it on all images, or evaluate on those it saw; force=True evaluates as it is"),
    Code("OS427", "run does not belong together", "A file of a kept run has other bytes than were "
         "written with it, or another vocabulary: its numbers are not of its boxes.",
         "a file was changed, or exchanged with that of another run",
         "restore the file, or evaluate again"),
    Code("OS428", "broken records dropped", "They take no part: the numbers are those of the "
         "others.", "drop_invalid=True was given",
         "nothing, if it is intended; repair the export to have all"),
    Code("OS429", "too many broken records to drop", "More than half would go, and what is left "
         "would not be what the detector said.", "an export that is broken as a whole",
         "repair the export"),
    Code("OS430", "ground truth fits in another layout", "Detections lie on objects when the boxes "
         "of the ground truth are read in another layout, or as of pictures of another size, and "
         "hardly any as they are read.",
         "annotations were written as corners or centres, or pictures were resized after",
         "write x, y, width, height in pixels in the ground truth; force=True evaluates as it is"),
    Code("OS431", "pixels in place of shares", "The format has boxes relative to the size of the "
         "image, and most of these lie far outside of it.",
         "boxes were written in pixels", "divide them by the width and height of their image"),
    Code("OS432", "column twice", "A table has two columns of one name: which one is meant cannot "
         "be told.", "tables were joined, or a column was added that was there",
         "keep one of them, or give the other another name"),
    Code("OS433", "part of the images read wrongly", "Boxes of many images lie on objects only if "
         "boxes or image ids are read in another way, while those of the rest fit as they are.",
         "files of two exports, or of two sizes of the pictures, were put together",
         "write both parts in one convention; force=True evaluates as it is"),
    Code("OS434", "boxes of a class read wrongly", "Boxes of one or a few classes lie on objects "
         "only if they are read in another way, while those of the others fit as they are.",
         "a class that came from another detector or another export",
         "write the boxes of all classes in one convention; force=True evaluates as it is"),
    Code("OS435", "all detections on one image", "Nearly every detection names the same image, of "
         "many with objects.", "a loop that wrote one id, or a counter that was never raised",
         "write the id of the image of each detection; force=True evaluates as it is"),
    Code("OS436", "detections are the ground truth", "Nearly all detections have exactly the box "
         "of an object: this measures no detector.", "the ground truth was converted in place of a "
         "detector's results", "give the results, or nothing, if it is a test of an upper bound"),
    Code("OS437", "boxes not suppressed", "Many boxes lie on top of another of the same label with "
         "a score as high: all but one of them count as wrong.",
         "non-maximum suppression was left out, or its threshold is 1; or two epochs or detectors "
         "are in one file",
         "suppress overlapping boxes of a class, or give each epoch and detector a file of its "
         "own; nothing, if it is intended"),
    Code("OS438", "boxes end where objects go on", "No box reaches beyond a line that many objects "
         "cross: a part of each image has no box.",
         "boxes of tiles or crops without their place in the image, numbers that wrapped at 256, "
         "or a detector that saw a part of each picture",
         "add the place of the tile to its boxes, or write wider numbers; force=True evaluates as "
         "it is"),
    Code("OS439", "confidence in another place", "Lines of text have the confidence before the "
         "box where it is expected behind it, or the reverse: every number is read as another.",
         "another tool than that of the format wrote the text files",
         "write class cx cy width height confidence for YOLO, image score xmin ymin xmax ymax for "
         "VOC"),
    Code("OS440", "image ids of two sets collide", "One file of detections speaks of the images of "
         "two sets, and some ids are of an image in each.",
         "both data sets number their images from 1, or nearly so",
         "give the detections on either set as a file of its own: NAME=ID_FILE+OOD_FILE"),
    Code("OS441", "roles of two sets differ", "A label is known in the ID set and unknown in the "
         "OOD set, or the other way round.", "the sets are of different benchmarks",
         "give two sets of one benchmark, or state the roles with known='voc20'"),
    Code("OS442", "category ids of two sets differ", "One number means one class in the ID set and "
         "another in the OOD set: what a detection says cannot be told.",
         "the two files number their categories each in its own way",
         "write names in the detections, or say what the numbers mean: category_ids='FILE'; sets "
         "that openset build makes share their ids"),
    Code("OS443", "images of both sets", "An image is in the ID set and in the OOD set.",
         "a split was given twice, or images with known objects were not taken out",
         "take them out of one set; openset build ... { not_in = 'id' }"),
    Code("OS444", "known objects in the OOD set", "Detections of them count as out of "
         "distribution, although they are right; FMIYC found such images in the published sets.",
         "the set was made by image labels, or classes are known under another name",
         "take these images out: { without = 'known' }; openset audit --second lists more"),
    Code("OS445", "no best score", "The t* of a detector is not defined.",
         "no known class has a true positive, or the ground truth has no known object",
         "give known objects (--id ID.json), or a number: minimum_score=0.3"),
    Code("OS446", "known objects in wild images", "The protocol calls an image wild as soon as it "
         "holds an unknown object, and the precision without wild images is that of other images: "
         "Wilderness Impact may even be negative.",
         "a benchmark of mixed images, and a protocol for closed-set images beside wild ones",
         "protocol='default' or 'paper' (wild is what has no known object), or wild images apart"),
    Code("OS447", "same detections under two names", "Two models have exactly the same boxes, "
         "labels and scores, or two classifiers the same scores: comparing them says nothing.",
         "one file was given twice, or copied in place of the other's",
         "give the file of each model; nothing, if they are to be equal"),
    Code("OS448", "boxes fit the objects of other images", "Boxes of many images miss the objects "
         "there and fit those of another image: as they are joined, they count as wrong.",
         "a list of images lacks one that another has, or ids were shuffled",
         "write the id of the image that a box was predicted on; force=True evaluates as it is"),
    Code("OS451", "detections were capped", "Every image ends at the same few detections, also "
         "where more objects are: AP and recall are of that cap.",
         "max_det, top-k or an argmax over boxes, as of a demo",
         "export up to 100 detections an image; nothing, if the detector gives no more"),
    Code("OS452", "objects marked as crowds", "A crowd is a region with many objects: it counts "
         "neither as found nor as missed.",
         "the exporter writes iscrowd=1 for every mask in run lengths, or for occluded objects",
         "write iscrowd=0 for single objects; nothing, if they are crowds"),
    Code("OS453", "unknown objects on a part of the images", "Images beside them that look alike "
         "have none: unlabelled ones there make right boxes wrong, and unknown recall rests on "
         "few images.",
         "annotation of the other classes stopped there, or was filtered to known ones after",
         "annotate the rest or leave it out: openset select --images LIST; nothing, if no unknown "
         "object is there"),
    Code("OS454", "images that one detector has not seen", "A detector has nothing on many images "
         "that another has boxes on, and many boxes on all others: objects there count as missed.",
         "it was run on a part of the images, or its file was filtered to another subset",
         "run it on the rest, or compare on the images of both: openset select --images LIST; "
         "nothing, if it finds nothing there"),
    Code("OS455", "small objects are not annotated", "Sizes of objects end at a line, and the "
         "detector surely finds smaller ones: as far as these are right, they count as wrong.",
         "a filter dropped small objects, or only larger ones were annotated",
         "write small objects, too, or with iscrowd=1 if they should not count; where they were "
         "never annotated, leave smaller boxes out of the file"),
    Code("OS456", "class not annotated in a part", "On these images right boxes of the class count "
         "as wrong: AP is lower by as much, and so is precision.",
         "sets were joined, and in one of them nobody annotated the class",
         "annotate the class there, leave these images out, or evaluate each set by itself with "
         "the classes that it has (openset select --images); nothing, if it is truly not there"),
    Code("OS458", "one box of a class per image", "No image has two boxes of one label: where "
         "more objects are, AP and recall are of one of them.",
         "boxes were kept in a dictionary by class, where each takes the place of the last",
         "write all boxes of an image; nothing, if the detector gives one for each class"),
    Code("OS459", "one object per image", "No image has two objects, or two of one class, where "
         "sure boxes lie beside them: right boxes count as wrong.",
         "objects were kept in a dictionary by image, or by class, where each takes the place of "
         "the last",
         "write all objects of an image; nothing, if one was to be annotated"),
    Code("OS460", "federated annotation", "On an image only some classes were looked for, and of "
         "some of these not all objects: right boxes of the others count as wrong, so that AP, "
         "precision and false unknowns are those of an exhaustive evaluation, which LVIS does not "
         "make.", "LVIS, or another ground truth with neg_category_ids and "
         "not_exhaustive_category_ids",
         "use LVIS's own evaluator for AP; compare detectors with each other on this file alone, "
         "or evaluate on an exhaustive ground truth of the same images (COCO's)"),
    Code("OS461", "label files absent", "Images without a label file count as images without "
         "objects: if their files were lost, whatever is found on them is wrong.",
         "half a copy of the labels, or images without objects, which some tools leave out",
         "copy the labels again; nothing, if these images show no object"),
    Code("OS462", "listed classes without objects", "Lists of the data set name classes on images "
         "that have no object of them: right boxes there count as wrong.",
         "annotations were filtered or renamed, or are of another version than the lists",
         "give the annotations that belong to the lists; or remove the lists, if these are out of "
         "date"),
    Code("OS463", "two sets cut at different scores", "What compares the detections of both sets "
         "(AUROC, FPR95) tells the cut of one from that of the other.",
         "files were exported with other thresholds",
         "cut both at the higher score with minimum_score=, or export both from the same low one"),
    Code("OS464", "two files of one detector, made in two ways", "Unknownness of two scorers, or "
         "boxes of two networks, are told apart by their file: AUROC is that of the files.",
         "the file of another scorer, training or step was given for one of them",
         "score both files with the same scorer, fitted on the same data (openset score), or give "
         "the two files of one detector"),
    Code("OS465", "detections of unknown classes dropped", "Boxes with the name of a class that is "
         "unknown here are left out: they find no unknown object, nor are they wrong.",
         "leaked='drop' was given", "nothing, if it is intended; results compare at the same "
         "leaked= only"),
    Code("OS466", "objects with scores", "Boxes of a detector stand for objects: what it misses is "
         "missing, and detectors like it come out too well.",
         "detections, or pseudo labels, in the form of a ground truth",
         "give the annotations; nothing, if people have looked at these boxes"),
    Code("OS467", "one class for every object", "All objects have one label, and sure boxes of "
         "other classes lie on them: these count as wrong.",
         "the same category was written into every annotation",
         "export the ground truth again, with the category of each object; nothing, if they are "
         "all of one class"),
    Code("OS468", "objects on images of the same id", "Objects that come last in the list lie on "
         "images of other objects: they are missed for certain.",
         "two data sets that number their images alike were put together",
         "number the images of one of them on, and its annotations with them (openset select joins "
         "files and refuses such ids); nothing, if the detector does not see these objects"),
    Code("OS470", "image ids went through float32", "Ids beyond 2^24 lost their last digits: boxes "
         "of several images are on one, and most images have none.",
         "ids were kept in a tensor or a column of 32-bit floats",
         "keep ids as whole numbers, or name images by their files; force=True evaluates as it is"),
    Code("OS471", "names of several images", "Boxes of several images are under one name: which "
         "are whose cannot be told.",
         "names without the folder, where folders (cameras, films) number their images alike",
         "write the path of each image below their common folder, or its id"),
    Code("OS472", "objects without annotations", "A detector is as sure of boxes on nothing as of "
         "those that are right: objects there count as false positives, and its AP is of the "
         "annotations that are left.",
         "annotations were lost, or drawn at random; or nobody annotated all objects",
         "annotate all objects of the images; openset diagnose --question missing_labels shows "
         "such boxes; nothing, if these images show no more"),
    Code("OS501", "evidence missing", "The scorer reads a column that the detections do not have.",
         "the detector ran without keeping it, or the format cannot hold it",
         "run the detector with its evidence kept, and write Parquet, which holds every column"),
    Code("OS502", "evidence is not finite", "A logit, embedding or score is NaN or infinite.",
         "an overflow in half precision, a detector that diverged in training, or the logarithm of "
         "a probability that is 0 or 1",
         "run the detector in float32, clip probabilities to 1e-7 ... 1 - 1e-7 before a logarithm, "
         "or remove the records"),
    Code("OS503", "evidence of another shape", "A column is wider, narrower or laid out otherwise "
         "than the scorer, its fit or the head expects.", "files of two detectors were mixed",
         "use the training detections, the head and the layout of the same detector"),
    Code("OS504", "too little to fit on", "The scorer cannot be fitted on these detections.",
         "a score threshold or a filter left too few, or no training detections were given",
         "give training detections, or more of them: openset score DT --fit TRAIN"),
    Code("OS505", "test data in a fit", "Numbers on that data would be optimistic.",
         "the detections to evaluate were given in place of training or held-out ones",
         "fit on training data and calibrate on held-out knowns; force=True does it, and says so"),
    Code("OS506", "unknown objects in a fit", "What is called unknown is known to the scorer.",
         "relabelled detections, or a detector that names unknowns, were given",
         "leave detections labelled unknown out of the fit; force=True does it, and says so"),
    Code("OS507", "not a fitted scorer", "The file is damaged, or of another kind or version.",
         "another .npz file, or one with pickled objects, which are never loaded",
         "fit again and save with Fitted.save"),
    Code("OS508", "class without training detection", "The scorer knows nothing of the class: its "
         "objects may look unknown.", "a rare class, or a high score threshold",
         "lower the threshold of the training detections, or nothing, if it is expected"),
    Code("OS509", "negative activations", "The scorer shapes or ranks activations that are never "
         "negative; below zero its numbers mean little.", "the detector's last hidden layer ends "
         "with a normalisation, not with a ReLU (DETR and its kin)",
         "another scorer: knn, relative_mahalanobis, or one of the logits"),
    Code("OS510", "logits look like probabilities", "All values lie between 0 and 1: scorers would "
         "take the sigmoid or softmax of what is one already.",
         "scores of classes were kept after the last layer, not before",
         "keep the logits; or make them again: log(p / (1 - p)) of sigmoids, log(p) of a softmax, "
         "of p clipped to 1e-7 ... 1 - 1e-7 first, since those of 0 and 1 are infinite"),
    Code("OS511", "fitted on another model", "Embeddings and logits of two trainings have no "
         "common scale: what is fitted on one says nothing of the other.",
         "detections of another training, or of another detector, were given",
         "run the model that is scored over the training or held-out images; --force does it as "
         "it is"),
    Code("OS512", "fewer detections than dimensions", "A covariance of fewer rows than dimensions "
         "says of most directions that nothing varies there: distances are chance.",
         "a part of the training images, a high score threshold, or a detector that is hardly "
         "trained",
         "fit on all training images; or a scorer that needs no covariance, such as knn"),
    Code("OS513", "embeddings of another length", "Distances between embeddings of length one "
         "and others say nothing but that.",
         "one of two exports normalises embeddings",
         "export both alike; scorers that want a length of one see to it themselves; --force takes "
         "them as they are"),
    Code("OS514", "logits of another temperature", "A threshold on logits, or energies, means "
         "nothing for logits on another scale.",
         "logits of one export were divided by a temperature, or its scores were calibrated",
         "export both alike; nothing, if only scores were calibrated"),
    Code("OS515", "threshold from training images", "A detector is surer of objects that it was "
         "taught: fewer of those in other images stay known than the threshold is to keep.",
         "the training split was given in place of held-out images",
         "run the detector on held-out images and calibrate on these; nothing, if it was not "
         "trained on what is called so"),
    Code("OS516", "unknownness of other logits", "The scorer that the ledger names makes something "
         "else of the logits beside it: the numbers are of other boxes, or of an earlier run.",
         "columns of two files were put together, or some were sorted",
         "score the detections again: openset score, or --unknownness NAME"),
    Code("OS601", "package missing", "The detector is a model of a library that is not installed.",
         "the core install has no torch", "pip install 'openset[torch]', or the package named"),
    Code("OS602", "image missing", "An image of the ground truth is not in the folder.",
         "another folder, another split, or names that are relative to something else",
         "give the folder that the file names are relative to"),
    Code("OS603", "image cannot be decoded", "The file is no image, or it is damaged.",
         "a truncated download, or a page of an error saved under the name of an image",
         "replace the file"),
    Code("OS604", "weights cannot be read", "The file is damaged, or is no file of plain tensors.",
         "a truncated download, or a whole model that was pickled",
         "save the state dictionary: torch.save(model.state_dict(), path)"),
    Code("OS605", "weights of another model", "Names or shapes of weights differ from the model's.",
         "another detector, backbone or method, or another number of classes",
         "build the detector with the options and labels of the weights"),
    Code("OS606", "device missing", "The device that was asked for cannot be used.",
         "no GPU, no driver, or torch without support for it",
         "leave the device out, or say device='cpu'"),
    Code("OS607", "out of memory", "The batch does not fit into memory.",
         "too many or too large images at a time", "use a smaller batch"),
    Code("OS608", "loss is not finite", "Training has diverged; the last checkpoint is still good.",
         "a learning rate that is too high, or boxes that are not finite",
         "lower the learning rate, lengthen the warm-up, or clip gradients"),
    Code("OS609", "run of another recipe", "The folder holds a checkpoint of another training, or "
         "a chain with other exemplars.",
         "the recipe, the labels, the data or an option were changed after the start",
         "choose another folder, or take the change back"),
    Code("OS610", "nothing to train on", "No image has an object of a known class.",
         "other labels than the file's, or a file without annotations",
         "compare the labels with the categories of the file"),
    Code("OS611", "exported model not understood", "Inputs or outputs are of no known layout.",
         "an export with its own post-processing, or of another detector",
         "export without NMS, and name the layout: 'yolox' or 'yolov8'"),
    Code("OS612", "recipe not understood", "A key or a value of the recipe is not one of ours.",
         "a misspelt key, or a value of another type", "see docs/training.md for all keys"),
    Code("OS613", "pictures changed", "The files of the images are not those that the training, "
         "or the run in parts, began with: it would go on with other pixels.",
         "images were replaced, converted or resized in the meantime",
         "bring the images back, or begin anew in another folder"),
    Code("OS614", "weights are not finite", "A weight is NaN or infinite: whatever the network "
         "says is, too.", "a training that diverged, an overflow in half precision, or a damaged "
         "file", "take an earlier checkpoint, or train anew"),
    Code("OS615", "two images of one name", "Images are called by their names without the ending, "
         "and two have the same: their detections could not be told apart.",
         "one picture in two formats, such as a.jpg and a.png",
         "rename or remove one of them, or give a ground truth that names the files"),
    Code("OS616", "processor without bfloat16", "The processor says that it computes bfloat16, and "
         "stops whoever does: the training would end without a word.",
         "a virtual machine that names AMX among its abilities and does not give it",
         "train in float32, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16"),
    Code("OS617", "checkpoint of another training", "The checkpoint in the folder was written by a "
         "training with another recipe, other labels or other data than the folder's.",
         "checkpoint.pt was copied from another folder, or run.json was",
         "bring the folder's own checkpoint back, or train anew in another folder"),
    Code("OS618", "class called unknown", "A method with a column of its own for what is unknown "
         "cannot be taught a class of that name.", "a ground truth whose unknown objects were to "
         "be left out", "say which labels are known, or rename the class"),
    Code("OS619", "class that never filled its queue", "The method went on without it: no outliers "
         "were made from its embeddings.", "a rare class, a long queue, or a short training",
         "a shorter queue, or nothing, if it is expected"),
    Code("OS620", "image in two folders", "Several folders of images were given, and a name is in "
         "two of them: nothing says which picture is meant.",
         "two data sets that number their images alike, or one folder inside of another",
         "give only the folders that the ground truth's images are from"),
    Code("OS621", "loss exploded", "The loss was far above that of the untrained network: what was "
         "learned is lost, though later losses may be small, since such a network finds nothing.",
         "a learning rate that is too high (20 for 0.02, or that of eight GPUs on one)",
         "lower the learning rate, lengthen the warm-up or clip gradients, and train in another "
         "folder; nothing, if the model finds objects"),
    Code("OS622", "folder in use", "Two trainings that write to one folder spoil its log, and each "
         "other's checkpoints.", "the same command, or job, was started twice",
         "wait for the other to end, or stop it: the command then goes on; or give another folder"),
    Code("OS641", "class that was never seen", "Nothing is learned about it but that it is not "
         "there; a method leaves it out of its loss and of unknownness.",
         "a class without objects in the training file, or a short training",
         "leave the class out of the known ones, or train on images of it"),
    Code("OS642", "method that learns nothing of one class", "The loss compares classes: with a "
         "single one it is the same whatever the network says, and the detector is trained without "
         "the method.", "a detector of one class, such as pedestrians",
         "a method that needs no other classes: vos, opendet, or a distance to points "
         "(--method recognition_loss --method-option objective=arpl)"),
    Code("OS643", "precision of a GPU on a CPU", "A CPU computes float16 number by number, several "
         "times slower than float32: it computes float32 instead, which is more precise.",
         "a recipe of a paper that was trained on GPUs", "nothing, if it is expected; --precision "
         "float32 says it in the recipe, --device cuda needs a GPU"),
    Code("OS648", "no regions before suppression", "A rule on regions reads all pairs of a region "
         "and a class, with the number of each region, before any was suppressed.",
         "the file is what a detector finds in the end, or is not of openset run",
         "openset run MODEL DATA --regions -o FILE.parquet"),
    Code("OS649", "scores that are not of the logits", "A pair's score must be the score of its "
         "class, or that times a factor of the region, or the root of both.",
         "a root or factor that the file does not keep (the centerness of FCOS), scores that were "
         "calibrated afterwards, or logits of another detector",
         "openset run --regions keeps what belongs together"),
    Code("OS650", "pairs below the least score are missing", "Another temperature raises low "
         "scores above the limit, and what was not kept cannot rise.",
         "the regions were kept from the detector's own least score on",
         "run with --regions and the lower --minimum-score that is named"),
    Code("OS651", "detector that names unknowns itself", "A rule makes unknowns of what a detector "
         "finds that knows none.", "a method with an unknown column, or a file that was "
         "relabelled", "evaluate the detections as they are, or give those of another detector"),
    Code("OS652", "no gamma or alpha keeps the known classes", "Each one that was tried costs more "
         "of AP_known on the held-out images than was allowed.",
         "values that are all large, few classes, or few held-out images",
         "try smaller ones, down to a gamma of 1 or an alpha of 0, or allow more with a smaller "
         "--known-share"),
    Code("OS653", "not class splits of one benchmark", "A mean over splits of the classes is of "
         "results of one protocol and the same resamples, each of another split.",
         "a split was given twice, or evaluated with other options",
         "evaluate every split with the same options, and name each result once, in one order"),
    Code("OS655", "known name for the unknown", "An open-vocabulary detector would call what it "
         "knows unknown: a text that should mean unknown is a known class.",
         "a list of names that holds the known ones, too", "take the known names out of others="),
    Code("OS656", "nothing to deceive about", "The gradient that changes a picture is that of the "
         "training loss, which needs objects of the detector's own classes.",
         "the ground truth of another detector, or labels that are spelt otherwise",
         "give the ground truth that the detector was trained on"),
    Code("OS657", "classifier that learned nothing", "The classifier of a scorer lost its numbers "
         "before it had learned anything.", "too high a learning rate, or features of another "
         "scale than those it was published for", "a lower lr="),
    Code("OS662", "tasks that are no chain", "A detector learns task after task: each needs images "
         "of its new classes to train on and test images of its own roles, from the first on.",
         "a split is missing, or states another task than it is of",
         "build all splits of all tasks, and name them in order: 1, 2, 3"),
    Code("OS663", "class taught twice or renamed", "A class is taught first by one task and keeps "
         "its name from then on: old logits are kept by name.",
         "lists of classes that overlap, or another spelling after the first task",
         "list a class in the task that introduces it, and spell it alike in all tasks"),
    Code("OS664", "model of other classes", "A task starts from a model whose classes are the "
         "first of those to teach, in their order.",
         "the model of another benchmark or of a later task, or tasks out of order",
         "start from the model of the task before this one"),
    Code("OS665", "exemplars that are not there", "A list of exemplars names images that no "
         "training split of the tasks so far has.",
         "a list for another benchmark, or names with a folder or an ending",
         "list images by the stem of their file names, or by id, one a line"),
    Code("OS666", "exemplars from the test", "A list of exemplars names test images: what is "
         "measured would have been taught.",
         "a list that was drawn from all images", "draw it from the training images alone"),
    Code("OS667", "benchmark that fails its audit", "A chain of trainings on it would measure "
         "something else than it says.", "the splits share images, or show what they must not",
         "openset audit BUNDLE says what to change; force=True learns it as it is"),
    Code("OS668", "class without exemplars", "Fine-tuning shows no object of the class, and so it "
         "will be forgotten.", "a short list, or a class that is rare",
         "more exemplars of a class, or another seed"),
    Code("OS670", "classes that expel nothing", "A class that has no right training detection has "
         "no mean to compare with, and none of its detections becomes unknown.",
         "few training pictures of that class, or a phi that no box of it reaches",
         "a smaller phi, such as --option phi=0.7, or more training pictures"),
    Code("OS671", "no right training detection", "CEC takes its means over training detections "
         "that overlap their object by more than phi; there is none.",
         "ground truth of other pictures, boxes of another convention, or too high a phi",
         "check --fit and --fit-truth with openset evaluate, or a smaller phi"),
    Code("OS672", "advisor that does not know images", "The boxes that a method is advised by are "
         "none for some training images: they were made of others.",
         "boxes of another split, ids of another kind, or a detector that found nothing there",
         "make it of the training images, openset run selective_search TRAIN.json -o FILE.parquet, "
         "or --method-option without=accept where there is nothing to be found"),
    Code("OS673", "advised boxes beyond their images", "Boxes that leave their image are of an "
         "image of another size, and would confirm the wrong regions.",
         "boxes of scaled images, of other images with the same ids, or x2, y2 for widths",
         "give boxes in pixels of the images as they are on disk: x, y, width, height"),
    Code("OS674", "nothing unknown to teach an oracle", "An oracle is taught unknown objects by "
         "their labels, and the training images have none.",
         "a training file that names known objects only",
         "give a ground truth that has the unknown objects, too, and --known; in the tasks of a "
         "benchmark, --method-option truth=FILE"),
    Code("OS675", "too little to fit energies on", "A distribution of energies is fitted on at "
         "least 50 detections of known objects, and on as many of unknown ones.",
         "few validation images, or a ground truth without unknown objects",
         "give --fit and --fit-truth of more images, in which unknown objects are labelled"),
    Code("OS676", "training on test data", "What a detector is tested on would have been taught.",
         "the test split was given in place of the training split",
         "give the training split; nothing, if the file is not what it is called"),
    Code("OS682", "chains of other tasks", "Chains are drawn side by side, and their stages do not "
         "answer the same question: other classes were taught, or other images tested.",
         "folders of two benchmarks, or of two builds of one, were given",
         "draw chains of one benchmark together; nothing, where the order of classes is what is "
         "compared"),
    Code("OS701", "impossible world", "No scene can be made with these parameters.",
         "a value out of range, or parameters that contradict each other",
         "change the parameters named"),
    Code("OS702", "folder is taken", "The folder holds something else than this world.",
         "another world, the same with other parameters, or files of your own",
         "choose another folder, or empty this one"),
    Code("OS801", "openness is not a number", "The sample cannot be ranked.",
         "an overflow in half precision, or a logarithm of a negative number",
         "compute logits and openness in float32, or remove the samples"),
    Code("OS802", "columns of another shape", "Labels, classes and openness do not belong "
         "together.", "files of two runs were mixed, or one of them lacks its last batch",
         "write one label, one predicted class and one openness per sample"),
    Code("OS803", "label outside the known classes", "A known sample must have a known class, and "
         "a classifier names known classes only.", "labels are numbered from 1, or not renumbered "
         "after unknown classes were left out", "number the known classes 0 to C - 1"),
    Code("OS804", "no known or no unknown sample", "Metrics that need them have no value (None).",
         "a closed-set test set, or a filter that removed all", "give samples of both kinds"),
    Code("OS805", "all samples are equally open", "Nothing can be ranked: AUC is one half.",
         "a constant was written in place of a score, or a saturated probability",
         "use the largest logit, which does not saturate"),
    Code("OS806", "one known class", "There is nothing to confuse; OpenAUC is the AUC.",
         "a novelty detection data set", "nothing, if it is expected"),
    Code("OS807", "not a file of scores", "The file lacks an array or a column.",
         "other names than ours", "write logits_k, labels_k and logits_u to .npz, or the columns "
         "label, predicted and openness to CSV"),
    Code("OS808", "known class without samples", "Its recall counts as 0 in macro means.",
         "a subset of the test set, or a class that was never taught",
         "leave the class out of the list of classes, or nothing, if it is expected"),
    Code("OS809", "unknown samples with known labels", "A sample of a known class is not unknown.",
         "the split of classes was lost, or both label lists start at 0",
         "leave the labels of unknown samples out, or number them after the known classes"),
    Code("OS810", "data set missing", "A file of the data set is not where its layout puts it.",
         "the archive was not unpacked, or another folder was given",
         "give the folder that holds the official files"),
    Code("OS811", "data set not understood", "A file differs from the official layout.",
         "a truncated download, or another version of the data set", "download the file again"),
    Code("OS812", "openness looks upside down", "Unknown samples look less unknown than known "
         "ones.", "a confidence was written as openness: the largest probability or logit",
         "write it negated: larger = more unknown; ignore this if the classifier is that bad"),
    Code("OS813", "known and unknown look exchanged", "Unknown samples look less unknown than "
         "known ones, whose classes are named as if by chance.", "the arrays, or the labels, of "
         "known and unknown samples were exchanged",
         "exchange them; ignore this if the classifier is that bad"),
    Code("OS814", "labels mean other classes", "What is predicted is one other class throughout: "
         "accuracy, and all that rests on it, would be wrong.", "labels and predictions go by "
         "different lists, or orders, of classes",
         "name classes alike in both columns; force=True measures as it is"),
    Code("OS815", "class folder missing", "A class of the data set has no folder with pictures, "
         "by its name or by its number.", "classes are spelt otherwise or numbered from 1, or the "
         "copy is not whole", "name each folder like the official class, or by its number from 0"),
    Code("OS816", "data set in pickles", "Only the version for Python is there: pickles, which "
         "could run code and are not read.", "torchvision or a script for Python downloaded it",
         "download the binary version, or give pictures in a folder per class"),
    Code("OS817", "unknown samples are known ones", "Unknown samples have exactly the openness of "
         "known ones, all or more than rounding explains: nothing can tell them apart.",
         "one array was written under both names, samples were copied into both, or the split of "
         "classes was lost", "write the scores of the unknown samples"),
    Code("OS818", "labels of a part as if drawn", "In a stretch of the file labels agree with the "
         "predicted classes by chance alone, though the same classes are named rightly elsewhere: "
         "accuracy, and all that rests on it, would be a mixture.",
         "labels of one batch or file were shuffled, or are in another order than its scores",
         "write each label beside its scores; ignore this if that part is so hard"),
    Code("OS819", "labels are of other samples", "Names agree with labels by chance alone, though "
         "nothing else looks like a weak classifier: accuracy, and all that rests on it, would be "
         "wrong.", "labels were read in another order than scores: a shuffled loader, or a list "
         "that was sorted", "write each label beside its scores, from the same batch; ignore this "
         "if classes are named by chance"),
    Code("OS820", "samples more than once", "Copies count as samples of their own: intervals come "
         "out too narrow, and what is copied weighs more.", "files were joined twice, or a run "
         "was appended to an earlier one", "leave every sample once"),
    Code("OS821", "a class spelt in two ways", "Labels and predictions that differ in case, spaces "
         "or punctuation would be two classes, and right answers wrong.",
         "labels and predictions come from different lists of names",
         "spell classes alike in both columns; --force measures as it is"),
    Code("OS822", "unknown samples counted as known", "A label that is never predicted means "
         "\"unknown\": its samples would be known ones that are always named wrongly.",
         "a misspelt \"unknown\", another word for it, or the true classes of unknown samples",
         "write unknown, -1 or nothing as the label of unknown samples; --force measures as it "
         "is"),
    Code("OS823", "unknown is among the classes", "A class without known samples takes the unknown "
         "ones: the classifier was taught what is unknown here, and being sure of that class "
         "counts as being known.", "logits have a column \"unknown\", or the classifier was "
         "trained on all classes", "leave that column out, and give its value as openness (the "
         "columns label, predicted, openness); ignore this if the known classes are right"),
    Code("OS824", "openness is a decision", "Samples are ranked by openness; two values leave one "
         "threshold, and one value for a whole kind is no measurement.",
         "a threshold was applied, or the true answer was written in place of a score",
         "write the score before the threshold"),
    Code("OS825", "table looks cut off", "The last number has fewer digits than any before it, and "
         "no line end: rows, and digits, may be missing.",
         "a copy or a program that was stopped", "write the file again, or end its last line"),
    Code("OS826", "labels left empty", "A sample without label counts as unknown; but others say "
         "\"unknown\".", "labels of known samples were lost, as a join of tables does",
         "fill in the labels, or write unknown for all unknown samples"),
    Code("OS827", "samples may be in another order", "Classifiers are compared sample by sample; "
         "two that agree on samples of one kind and not at all on those of the other are hardly "
         "of the same ones.", "a file was written from a shuffled loader",
         "write samples in one order, and name them (ids_k and ids_u, or a column id): then it is "
         "checked; ignore this if classifiers differ so"),
    Code("OS828", "openness sorted by itself", "Every sample has the openness of another one: "
         "numbers of rejection mean nothing.",
         "one column was sorted, by np.sort or a spreadsheet, and the others were not",
         "write openness in the order of the samples; nothing, if rows were sorted whole and "
         "numbered afterwards"),
    Code("OS829", "threshold that decides nothing", "The threshold is outside the openness of all "
         "samples, so that metrics at it are those of a classifier that rejects none, or all.",
         "a threshold of another score: a probability, where openness is a logit with a minus",
         "give a threshold on the scale of openness, larger = more unknown"),
    Code("OS830", "samples in another order", "Classifiers are compared sample by sample, and rows "
         "of one file are not the samples that they are in the other.",
         "a file was written from a shuffled loader, or sorted; or it is of other samples",
         "write samples in one order; --force compares them as they are"),
    Code("OS831", "openness is often tied", "Pairs of samples with one openness count one half, "
         "and so many do that the area under the ROC curve is further open than by chance.",
         "openness was rounded where it was written (%.2f), or saturates",
         "write openness with all its digits; nothing, if it has so few values by its nature"),
    Code("OS832", "misnamed samples left out", "No known sample is misnamed, and many are as good "
         "as undecided: accuracy is 100 % by selection, and the other numbers are of easy samples.",
         "only samples with predicted == label were kept, or the classifier was taught these",
         "write all known samples of the test set; ignore this if none was left out"),
    Code("OS833", "classes numbered otherwise", "Classifiers are compared on the same labels, and "
         "a class of one file has another number, or name, in the other.",
         "classes are in another order: by name (ImageFolder), or as they came",
         "name the classes of every file (classes in .npz, in the order of logits; logit:NAME in a "
         "table): then they are matched by name; --force compares as is"),
    Code("OS834", "other samples than the first", "Numbers of two classifiers differ by their "
         "samples, too, and no pair of answers is of one sample.",
         "a loader left its last batch out (drop_last=True), or the test sets are not the same",
         "test all classifiers on the same samples, in one order; force=True compares"),
    Code("OS835", "openness on two scales", "The sign of openness says whether a sample is known, "
         "whatever the classifier makes of it: AUC and all that rests on ranks is 0 or 1.",
         "openness of one kind is 1 - p, and of the other a negated logit or an energy",
         "write openness of both kinds in one way, or the logits themselves; nothing, if it is "
         "one way, whose sign parts them by nature"),
    Code("OS901", "benchmark not understood", "A key or value of its TOML file is not one of ours.",
         "a misspelt key, or a value of another type", "see docs/benchmarks.md for all keys"),
    Code("OS902", "source missing", "A file that the benchmark is made from is not in the folder.",
         "it was not downloaded or not unpacked, or another folder was given",
         "openset fetch NAME says what to download; give the folder with --source"),
    Code("OS903", "source of another version", "The file has not the bytes or the labels that the "
         "benchmark was defined on.", "a half download, or another release of the data set",
         "download the file again, from the address that openset fetch NAME prints"),
    Code("OS904", "class name matches nothing", "No label of the sources has that name.",
         "another spelling, or another data set", "correct the name in the benchmark's TOML file"),
    Code("OS905", "class in two roles", "A class is known and unknown at once, or taught twice.",
         "overlapping lists", "leave the class in one list"),
    Code("OS906", "split is empty", "No image passes the rules of the split.",
         "rules that contradict each other, or another source than they are for",
         "drop the rules one by one to see which leaves nothing"),
    Code("OS907", "counts differ", "The split has not the size that was published.",
         "a subset or another version of the data, or a rule that the paper words differently",
         "compare the sources with openset fetch NAME; until they agree, do not compare numbers"),
    Code("OS908", "hierarchy is a circle", "A class would be its own ancestor.",
         "a hand-written hierarchy", "remove one of the links named"),
    Code("OS909", "folder is taken", "The folder holds something else than this benchmark.",
         "another benchmark, the same of other sources, or files of your own",
         "choose another folder, or remove this one"),
    Code("OS910", "listed images are absent", "An image list names images that the sources lack.",
         "another version of the data set, or a list for another one",
         "check that list and sources are of the same release"),
    Code("OS911", "image ids collide", "Images of two sources have one id.",
         "both number their images from 1", "ids = 'stem' names images by their file names, "
         "ids = 'both' by source and id"),
    Code("OS912", "not a benchmark", "The folder is not one that openset build wrote.",
         "another folder, or a build that was stopped", "openset build NAME --source DIR -o DIR"),
    Code("OS913", "source is not whole", "The file or folder is there, but empty or cut off, "
         "or its archive was not unpacked.",
         "a download that was stopped, or an archive that was not unpacked",
         "download it again, or unpack it, as openset fetch NAME says"),
    Code("OS914", "file of a task beyond the last", "An annotation file states a task for which no "
         "classes are known.", "the test file of that task is missing, or another list of classes",
         "give the test files of all tasks, or a vocabulary of tasks: --known owod-t4"),
    Code("OS915", "listed images left out", "The data lack images that a list names, and partial "
         "data were asked for: the split is smaller than the published one.",
         "a part of the data set", "compare numbers with those on the same images alone"),
    Code("OS916", "images without sizes", "Boxes are shares of images of 1 x 1: enough to count "
         "and to audit, but detections in pixels would lie outside of every image.",
         "the annotation files state no sizes, and the pictures are not beside them",
         "put the pictures below --source, in the folders that openset fetch names, and build "
         "again in another folder"),
    Code("OS917", "picture missing", "The size of an image is that of its picture, and the folder "
         "has none for it, or one that is no picture.",
         "half a download, or pictures of another split",
         "complete the folder, or move it away to build without sizes"),
    Code("OS918", "audit of other images", "What the audit says is not said of what the run was "
         "measured on.", "an audit of another benchmark, or of another split",
         "audit the files of the run: openset audit FOLDER -o audit.json"),
    Code("OS919", "split was edited", "A file of a built benchmark has other bytes than were "
         "built: numbers on it are not those of the benchmark.",
         "annotations were corrected or filtered by hand, or another version was copied there",
         "move the file elsewhere, and give the openset build command again: it makes "
         "what is missing"),
    Code("OS920", "test images are trained on", "What was trained on is known by heart: numbers on "
         "these images are of memory.",
         "splits are drawn from one source without a rule that keeps them apart",
         "add { not_in = 'test' } to the rules of the training split"),
    Code("OS951", "page differs from its run files", "A number, verdict or figure of a page is not "
         "what its run files say.", "a run file changed, or the page was edited by hand",
         "openset verify PAGES --write makes the pages again"),
    Code("OS952", "run file missing", "A table or figure of the page has no measurement.",
         "its trainings or its evaluation have not been run", "run the commands of the page"),
    Code("OS953", "not a run file", "A run file is of another version, or its rows do not fit its "
         "columns.", "another version of openset wrote it, or it was edited by hand",
         "make it again with the commands that it names"),
    Code("OS954", "page definition not understood", "A key of a page.toml, or a number it points "
         "to, does not exist.", "a misspelt key, run, row or column; or the run "
         "file was made without the trainings of that row",
         "take a name that the message lists"),
    Code("OS955", "run file out of date", "A file of the repository that a run file was made from "
         "has changed since, or is gone: the page shows what was measured before.",
         "results were measured again, and the run files of the pages were not made again",
         "run the command that the finding names, then openset verify PAGES --write"),
)  # fmt: skip

CODES: Mapping[str, Code] = {entry.code: entry for entry in _ENTRIES}


def markdown() -> str:
    """The catalogue as Markdown tables, one per group (the body of ``docs/checks.md``)."""
    blocks = []
    for group in GROUPS.values():
        entries = [entry for entry in _ENTRIES if entry.group == group]
        rows = [f"| {e.code} | {e.title} | {e.meaning} | {e.cause} | {e.fix} |" for e in entries]
        head = "| code | what | meaning | likely cause | fix |\n| --- | --- | --- | --- | --- |"
        blocks.append("\n".join([f"### {group}", "", head, *rows]))
    return "\n\n".join(blocks) + "\n"
