//! A study whose claims are known to be true or false, in the lab.

use skippable::Ending;

use crate::sandbox::Sandbox;
use crate::study::json;

const PLANTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/studies/planted");

/// Ext3 with and without an index, in the lab: 1,000 files in one directory, then 5,000.
pub(crate) fn what_was_planted_is_found_and_nothing_else() -> Ending {
    let sandbox = Sandbox::with_lab()?;
    let ran = sandbox.run(&format!("study run {PLANTED} --scale 0.05,0.25 --quiet --json -"));
    let results = json(&ran.ended_with(0).stdout);
    let measured = |id: &str| {
        let claims = results["claims"].as_array().unwrap();
        claims.iter().find(|it| it["id"] == id).unwrap()["measured"].clone()
    };
    for (claim, verdict) in
        [("P1", "holds"), ("P2", "undecided"), ("P3", "does_not_hold"), ("P4", "holds")]
    {
        assert_eq!(measured(claim)["verdict"], verdict, "{claim}: {}", measured(claim));
    }
    let limits = measured("P1")["questions"][0]["limits"].clone();
    assert_eq!(limits[0]["elsewhere"], serde_json::json!({ "size": 0.05 }), "{limits}");
    assert_eq!(limits[0]["says"], "otherwise", "{limits}");
    let twins = measured("P2")["reason"].as_str().unwrap().to_owned();
    assert!(twins.contains("they differ by less than"), "{twins}");
    Ok(())
}
