"""The main job on the embedded example: evaluate, look at one number, ask what unknowns become."""

import openset
from openset.diagnosis.confusion import confusion
from openset.examples import DETECTIONS, TRUTH

result = openset.evaluate(TRUTH, DETECTIONS)
for finding in result.findings:
    print(finding)
print(result)

print("\nWhat unknown objects become:")
for row in confusion(result.matches, iou=0.5).absorption()[:3]:
    print(f"  {row}")

impact = result.value("wilderness_impact", recall=0.5, ratio=1.0)
print(f"\nWilderness Impact at recall 0.5, one wild image per closed-set image: {impact.value:.3f}")
print("\nThe same detections under the protocols of published evaluators:")
for name in ("owod", "opendet", "osod3-voc", "elephant"):
    other = openset.evaluate(TRUTH, DETECTIONS, protocol=name, intervals=False)
    wi, a_ose, recall = (
        float(other.value(m)) for m in ("wilderness_impact", "a_ose", "unknown_recall")
    )
    print(f"  {name:10} WI {wi:.4f}  A-OSE {a_ose:.0f}  unknown recall {recall:.4f}")
