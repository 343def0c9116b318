// Counting: the flow at any position of the sliders, from small integers. The specification is
// openset/diagnosis/flow.py; sliders.py beside it is the encoding that is counted here. Tests hold
// the three equal.

const OBJECTS = {
  unknown: bytes(DATA.sliders.unknown),
  wild: bytes(DATA.sliders.wild),
  label: new Uint16Array(bytes(DATA.sliders.label).buffer), // of the unknown ones
};

function claims(packed) {
  return { sizes: bytes(packed.sizes), s: bytes(packed.s), u: bytes(packed.u) };
}

const MODELS = DATA.sliders.models.map((model) => ({
  ...model,
  right: claims(model.right),
  wrong: claims(model.wrong),
  wrongClass: new Uint16Array(bytes(model.wrongClass).buffer),
  alien: claims(model.alien),
  boxes: bytes(model.boxes),
  times: new Uint32Array(bytes(model.times).buffer),
}));

/** Per object whether some claim on it holds; a claim by a known name needs u <= j, else u > j. */
function held(claim, i, j, alien) {
  const { sizes, s, u } = claim;
  const result = new Uint8Array(sizes.length);
  for (let object = 0, at = 0; object < sizes.length; object += 1) {
    for (const end = at + sizes[object]; at < end; at += 1) {
      if (s[at] > i && u[at] > j === alien) result[object] = 1;
    }
  }
  return result;
}

/** What becomes of every object: 0 right, 1 wrong known, 2 called unknown, 3 missed. */
function fatesAt(model, i, j) {
  const right = held(model.right, i, j, false);
  const wrong = held(model.wrong, i, j, false);
  const alien = held(model.alien, i, j, true);
  return right.map((found, at) => (found ? 0 : wrong[at] ? 1 : alien[at] ? 2 : 3));
}

/** What becomes of objects at positions i and j, wild images counted `weight` times. */
function flowAt(model, i, j, weight) {
  const right = held(model.right, i, j, false);
  const wrong = held(model.wrong, i, j, false);
  const alien = held(model.alien, i, j, true);
  const cells = new Uint32Array(16);
  const both = [0, 0];
  for (let at = 0; at < right.length; at += 1) {
    const unknown = OBJECTS.unknown[at];
    const wild = OBJECTS.wild[at];
    const fate = right[at] ? 0 : wrong[at] ? 1 : alien[at] ? 2 : 3;
    cells[(unknown * 4 + fate) * 2 + wild] += 1;
    if (unknown && wrong[at] && alien[at]) both[wild] += 1;
  }
  const cell = (unknown, fate) => {
    const at = (unknown * 4 + fate) * 2;
    return cells[at] + weight * cells[at + 1];
  };
  return {
    known_right: cell(0, 0),
    known_wrong: cell(0, 1),
    known_unknown: cell(0, 2),
    known_missed: cell(0, 3),
    unknown_unknown: cell(1, 2),
    unknown_wrong: cell(1, 1),
    unknown_missed: cell(1, 3),
    unknown_both: both[0] + weight * both[1],
    ...boxesAt(model, i, j, weight),
    images: DATA.sliders.closedImages + weight * DATA.sliders.wildImages,
  };
}

/** Unknown objects by label and by what they are called: known classes, only unknown, missed. */
function absorbedAt(model, i, j) {
  const known = DATA.sliders.classes.length;
  const counts = new Uint32Array(DATA.sliders.labels.length * (known + 2));
  const alien = held(model.alien, i, j, true);
  const { sizes, s, u } = model.wrong;
  for (let object = 0, start = 0, unknown = 0; object < sizes.length; start += sizes[object], object += 1) {
    if (!OBJECTS.unknown[object]) continue;
    let column = alien[object] ? known : known + 1;
    for (let at = start; at < start + sizes[object]; at += 1) {
      if (s[at] <= i || u[at] > j) continue;
      column = model.wrongClass[at]; // claims of an object fall in score: the first names it
      break;
    }
    counts[OBJECTS.label[unknown] * (known + 2) + column] += 1;
    unknown += 1;
  }
  return counts;
}

function boxesAt(model, i, j, weight) {
  const sums = { known: [0, 0], unknown: [0, 0], wrong: [0, 0], alien: [0, 0] };
  const { boxes, times } = model;
  for (let row = 0, at = 0; row < times.length; row += 1, at += 3) {
    if (boxes[at] <= i) continue;
    const flags = boxes[at + 2];
    const wild = flags & 2 ? 1 : 0;
    if (boxes[at + 1] > j) {
      if (flags & 32) sums.unknown[wild] += times[row];
      if (flags & 8) sums.alien[wild] += times[row];
    } else {
      if (flags & 16) sums.known[wild] += times[row];
      if (flags & 4) sums.wrong[wild] += times[row];
    }
  }
  const total = ([closed, wild]) => closed + weight * wild;
  return {
    background_wrong: total(sums.wrong),
    background_unknown: total(sums.alien),
    boxes_known: total(sums.known),
    boxes_unknown: total(sums.unknown),
  };
}

/** Rates of a flow; null where there is nothing to divide by. */
function rates(flow) {
  const known = flow.known_right + flow.known_wrong + flow.known_unknown + flow.known_missed;
  const unknown = flow.unknown_unknown + flow.unknown_wrong + flow.unknown_missed;
  return {
    known,
    unknown,
    knownPrecision: over(flow.known_right, flow.boxes_known),
    knownRecall: over(flow.known_right, known),
    unknownPrecision: over(flow.unknown_unknown + flow.unknown_both, flow.boxes_unknown),
    unknownRecall: over(flow.unknown_unknown + flow.unknown_both, unknown),
    unknownAsKnown: over(flow.unknown_wrong, unknown),
    falseAlarms: over(flow.boxes_known - flow.known_right + flow.background_unknown, flow.images),
  };
}

/** How often a wild image counts at a wilderness ratio. */
function weightOf(ratio) {
  const { closedImages, wildImages } = DATA.sliders;
  if (ratio === null || !closedImages || !wildImages) return 1;
  return (ratio * closedImages) / wildImages;
}
