//! Builds the disk models from an order.

use disk::{ArrayOf, ArrayState, DiskDescription, Model, Options};

use crate::order::{ArrayOrder, DiskOrder};

/// Builds the model of a disk.
///
/// # Errors
/// When its parameters do not describe a disk or an option is unknown.
pub fn build(order: &DiskOrder) -> Result<Box<dyn Model>, String> {
    let description = description(order)?;
    let options = options(order)?;
    Ok(description.build(order.seed, &options))
}

/// The specification of a disk, or of a controller with the disks behind it.
///
/// # Errors
/// When the parameters do not describe one, or it cannot have such an array.
pub fn description(order: &DiskOrder) -> Result<DiskDescription, String> {
    let (name, text) = (&order.name, &order.parameters);
    let described = match &order.array {
        None => DiskDescription::parse(name, text),
        Some(array) => {
            DiskDescription::parse(&array.member, &array.parameters).and_then(|member| {
                let ArrayOrder { level, members, stripe_unit, write_memory, .. } = *array;
                let array = ArrayOf { level, members, stripe_unit, write_memory, member };
                DiskDescription::parse_array(name, text, array)
            })
        }
    };
    described.map_err(|error| error.to_string())
}

/// Whether the order asks for an array with a new member.
pub(crate) fn is_rebuilding(order: &DiskOrder) -> bool {
    options(order).is_ok_and(|options| options.array_state == ArrayState::Rebuilding)
}

/// Reads the options of an order.
///
/// # Errors
/// When one is unknown or has no such value.
pub fn options(order: &DiskOrder) -> Result<Options, String> {
    let mut options = Options { capacity: Some(order.capacity), ..Options::default() };
    for (key, value) in &order.options {
        let wrong = |values: &str| format!("disk {}: {key} = {value}: {values}", order.name);
        let switch = || match value.as_str() {
            "on" => Ok(Some(true)),
            "off" => Ok(Some(false)),
            _ => Err(wrong("on or off")),
        };
        match key.as_str() {
            "write_cache" => options.write_cache = switch()?,
            "read_ahead" => options.read_ahead = switch()?,
            "battery" => options.battery = switch()?,
            "array" => {
                options.array_state = match value.as_str() {
                    "clean" => ArrayState::Clean,
                    "degraded" => ArrayState::Degraded,
                    "rebuilding" => ArrayState::Rebuilding,
                    _ => return Err(wrong("clean, degraded or rebuilding")),
                };
            }
            "queue_depth" => {
                let depth = value.parse().map_err(|_| wrong("a number"))?;
                options.queue_depth = Some(depth);
            }
            "slower" => {
                let share = value.strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
                let share = share.filter(|share| (0.0..=1000.0).contains(share));
                let share = share.ok_or_else(|| wrong("a share up to 1000%, as 5%"))?;
                // In whole thousandths, the unit of the models.
                options.slower = Some((share * 10.0).round() as u32);
            }
            _ => {
                return Err(wrong(
                    "unknown; there are write_cache, read_ahead, battery, array, queue_depth, slower",
                ));
            }
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::QueueOrder;
    use units::Bytes;

    fn order(options: &[(&str, &str)]) -> DiskOrder {
        let ideal = disk::DISKS.iter().find(|disk| disk.name == "ideal").unwrap();
        DiskOrder {
            name: "ideal".to_owned(),
            parameters: ideal.text.to_owned(),
            array: None,
            options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            capacity: Bytes::from_mib(64),
            seed: 1,
            queue: QueueOrder {
                rotational: false,
                volatile_cache: false,
                fua: false,
                discard: false,
                depth: 32,
                physical_sector: 512,
                scheduler: "none".to_owned(),
                read_ahead: Bytes::from_kib(128),
            },
        }
    }

    #[test]
    fn a_disk_has_the_size_that_was_ordered() {
        assert_eq!(build(&order(&[])).unwrap().capacity(), Bytes::from_mib(64));
    }

    #[test]
    fn a_controller_has_the_disks_that_were_ordered_behind_it() {
        let text = |name: &str| disk::DISKS.iter().find(|disk| disk.name == name).unwrap().text;
        let array = |level, members| DiskOrder {
            name: "areca-arc-1220".to_owned(),
            parameters: text("areca-arc-1220").to_owned(),
            array: Some(ArrayOrder {
                level,
                members,
                write_memory: None,
                stripe_unit: None,
                member: "hitachi-7k1000c-1tb".to_owned(),
                parameters: text("hitachi-7k1000c-1tb").to_owned(),
            }),
            capacity: Bytes::from_gib(1 << 20),
            ..order(&[("battery", "off")])
        };
        let drive = disk::DiskDescription::find("hitachi-7k1000c-1tb").unwrap();
        let each = drive.build(1, &disk::Options::default()).capacity();
        let offered = build(&array(disk::Level::Raid5, 3)).unwrap().capacity();
        assert_eq!(offered, Bytes(each.0 / 65536 * 2 * 65536));
        let problem = build(&array(disk::Level::Raid10, 3)).err().unwrap();
        assert!(problem.contains("pairs are mirrored"), "{problem}");
        let with_memory = |memory| {
            let mut order = array(disk::Level::Raid10, 4);
            order.options.clear();
            order.array.as_mut().unwrap().write_memory = Some(memory);
            build(&order).map(drop)
        };
        assert_eq!(with_memory(Bytes::from_kib(256)), Ok(()));
        let problem = with_memory(Bytes::from_kib(128)).unwrap_err();
        assert!(problem.contains("at least one whole stripe"), "{problem}");
        let none =
            DiskOrder { parameters: text("ideal").to_owned(), ..array(disk::Level::Raid5, 3) };
        assert!(build(&none).err().unwrap().contains("put disks behind it"));
    }

    #[test]
    fn options_are_known_or_refused_by_name() {
        let read = options(&order(&[("write_cache", "off"), ("queue_depth", "1")])).unwrap();
        assert_eq!((read.write_cache, read.queue_depth), (Some(false), Some(1)));
        assert!(options(&order(&[("write_cash", "off")])).unwrap_err().contains("write_cash"));
        assert!(options(&order(&[("write_cache", "maybe")])).is_err());
        let slower = |share| options(&order(&[("slower", share)])).map(|read| read.slower);
        assert_eq!(slower("5%"), Ok(Some(50)), "in thousandths");
        assert_eq!(slower("1000%"), Ok(Some(10_000)));
        assert!(slower("5").is_err() && slower("1001%").is_err() && slower("-1%").is_err());
    }
}
