//! A figure that misses what was published, and writes that no cache takes in.

use super::*;

#[test]
fn a_figure_beyond_its_tolerance_is_shown_as_such() {
    // 12.5 where 10 was published.
    let line = |tolerance_percent| {
        let (figure, source) = (Figure::SyncWriteIops, "a manual".to_owned());
        let published = Some(Published { figure, value: 10.0, source, tolerance_percent });
        let rows = vec![CheckRow { figure, measured: Some(12.5), published }];
        let check = Check { rows, zones: Vec::new(), seeks: Vec::new() };
        check.to_string().lines().nth(1).unwrap().to_owned()
    };
    let beyond = line(Some(24.0));
    assert!(beyond.ends_with("+25.0 %  a manual BEYOND TOLERANCE"), "{beyond}");
    for within in [line(Some(25.0)), line(None)] {
        assert!(within.ends_with("+25.0 %  a manual"), "{within}");
    }
}

/// A write takes 0.6 ms for the command, 0.2 ms on the link, 12.5 ms for the average seek, half a
/// revolution of 11.1 ms, and 0.6 ms to pass. If all went to one place, each would wait for the
/// platter's next revolution, and no longer.
#[test]
fn writes_are_spread_over_the_whole_device() {
    let disk = DiskDescription::find("ide-2gb-1998").unwrap();
    let options = Options { write_cache: Some(false), ..Options::default() };
    let took = Probe { disk: &disk, seed: 7, options: &options }.cached_write_ms().unwrap();
    assert!((took - 19.5).abs() < 3.0, "{took} ms");
}
