"""The page of the open world says what the numbers say."""

from __future__ import annotations

import open_world
import open_world_page as page


def chain(recall, a_ose, previous=0.5):
    def stage(**values):
        return {
            "runs": 3,
            "values": {
                name: {"value": value, "interval": (0.9 * value, 1.1 * value)}
                for name, value in values.items()
            },
        }

    later = {"unknown_recall": recall, "a_ose": a_ose, "ap_known": 0.5}
    return {
        "t1": stage(ap_known=0.6),
        "t2": stage(ap_previous=0.01, **later),
        "t2-ft": stage(ap_previous=previous, **later),
    }


def held(**chains):
    return {"images": 1000, "chains": {name.replace("_", " "): one for name, one in chains.items()}}


def test_claims_follow_from_intervals():
    chains = {"base": chain(0.0, 100), "ore": chain(0.5, 90), "pad": chain(0.52, 90)}
    chains["base + cec"] = chain(0.3, 50)
    text = page.page({"images": 1000, "chains": chains})
    assert "restores old classes* (Joseph et al. 2021): holds: 50.0 %" in text
    assert "find unknowns* (ORE): holds: 50.0 %" in text
    assert "over ORE*: cannot tell: 52.0 %" in text
    assert "*CEC lowers confusion*: holds: 50 [45, 55] against 100 [90, 110]" in text
    assert "Means over 3 seeds" in text
    lost = page.page(held(base=chain(0.0, 100, previous=0.0101)))
    assert "restores old classes* (Joseph et al. 2021): cannot tell" in lost


def test_what_has_no_value_is_a_dash():
    one = chain(0.0, 100)
    one["t2"]["values"]["a_ose"] = {"value": None, "interval": None}
    assert "| – |" in page.stage_of({"base": one}, "t2").markdown()


def test_every_chain_has_a_name():
    assert set(page.NAMES) == set(open_world.CHAINS)
