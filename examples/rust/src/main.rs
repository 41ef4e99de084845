//! Publishes at a place, or subscribes to a circle, in Zonal's wire format (docs/wire-format.md).
//!
//!     zonal-example <endpoint> pub <topic> <lat> <lon> <text>
//!     zonal-example <endpoint> sub <topic> <lat> <lon> <radius in metres>
//!
//! `sub` says `ready` once it is declared, then one line for each message: latitude, longitude, text.
//! It knows the encoding `s2` and hears messages without a geofence.

use std::collections::HashSet;
use std::io::Write;

use s2::{cap::Cap, cell::Cell, cellid::CellID, latlng::LatLng, point::Point, region::Region, s1};
use zenoh::Wait;

const EARTH_RADIUS_M: f64 = 6_371_008.8;
const KEY_LEVEL: u64 = 20;
const VERSION: u8 = 1;
const REMEMBERED: usize = 10_000;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, verb, topic, lat, lon, last] = arguments.as_slice() else {
        return Err(
            "usage: zonal-example <endpoint> pub|sub <topic> <lat> <lon> <text|radius>".into(),
        );
    };
    let mut config = zenoh::Config::default();
    config.insert_json5("mode", "\"client\"")?;
    config.insert_json5("connect/endpoints", &format!("[\"{endpoint}\"]"))?;
    let session = zenoh::open(config).wait()?;
    let place = (lat.parse()?, lon.parse()?);
    match verb.as_str() {
        "pub" => publish(&session, topic, place, last),
        "sub" => subscribe(&session, topic, place, last.parse()?),
        _ => Err(format!("pub or sub, not {verb}").into()),
    }
}

fn publish(
    session: &zenoh::Session,
    topic: &str,
    place: (f64, f64),
    text: &str,
) -> Result<(), Failure> {
    let cell = CellID::from(LatLng::from_degrees(place.0, place.1)).parent(KEY_LEVEL);
    // The low 64 bits of the Zenoh id, which `to_le_bytes` gives first.
    let origin: [u8; 8] = session.zid().to_le_bytes()[..8].try_into()?;
    let mut attachment = vec![VERSION << 6 | 1 << 4 | 3]; // source by number, point as doubles
    attachment.extend(origin);
    attachment.push(0); // the number of the message, LEB128
    attachment.extend(place.0.to_le_bytes());
    attachment.extend(place.1.to_le_bytes());
    let key = format!("{topic}/@s2/{}", path_of(cell));
    session.put(key, text).attachment(attachment).wait()?;
    session.close().wait()
}

fn subscribe(
    session: &zenoh::Session,
    topic: &str,
    center: (f64, f64),
    radius_m: f64,
) -> Result<(), Failure> {
    let middle = LatLng::from_degrees(center.0, center.1);
    let circle = Cap::from_center_angle(
        &Point::from(&middle),
        &s1::Rad(radius_m / EARTH_RADIUS_M).into(),
    );
    let coverer = s2::region::RegionCoverer {
        min_level: 0,
        max_level: KEY_LEVEL as u8,
        level_mod: 1,
        max_cells: 24,
    };
    let (sender, samples) = std::sync::mpsc::channel();
    let mut declared = Vec::new();
    for cell in coverer.covering(&circle).0 {
        let (key, sender) = (format!("{topic}/@s2/{}/**", path_of(cell)), sender.clone());
        declared.push(
            session
                .declare_subscriber(key)
                .callback(move |sample| drop(sender.send(sample)))
                .wait()?,
        );
    }
    println!("ready");
    std::io::stdout().flush()?;
    let mut seen = HashSet::new();
    for sample in samples {
        // A blurred place may meet several of the declared keys: its message comes under each.
        if let Some(stamp) = sample.timestamp() {
            if seen.len() == REMEMBERED {
                seen.clear();
            }
            if !seen.insert(*stamp) {
                continue;
            }
        }
        let attachment = sample.attachment().map(|bytes| bytes.to_bytes());
        let Some(place) = place_of(sample.key_expr().as_str(), attachment.as_deref()) else {
            continue; // malformed, or a version that this program does not know
        };
        let (point, inside) = match place {
            Place::Point(lat, lon) => {
                let distance =
                    middle.distance(&LatLng::from_degrees(lat, lon)).rad() * EARTH_RADIUS_M;
                ((lat, lon), distance <= radius_m)
            }
            Place::Cell(id) => {
                let center = LatLng::from(id);
                (
                    (center.lat.deg(), center.lng.deg()),
                    circle.intersects_cell(&Cell::from(id)),
                )
            }
        };
        if inside {
            println!(
                "{} {} {}",
                point.0,
                point.1,
                sample.payload().try_to_string()?
            );
            std::io::stdout().flush()?;
        }
    }
    Ok(())
}

enum Place {
    Point(f64, f64),
    Cell(CellID),
}

/// Where a message comes from: its exact chunk says so, or its attachment.
fn place_of(key: &str, attachment: Option<&[u8]>) -> Option<Place> {
    let (_, location) = key.split_once("/@s2/")?;
    if let Some((path, exact)) = location.split_once("/=") {
        let data = base64url(exact)?;
        return point_of(data.get(..data.len().checked_sub(8)?)?, path);
    }
    let data = attachment?;
    let first = *data.first()?;
    if first >> 6 != VERSION {
        return None;
    }
    let mut at = 1;
    if first & 0b1_1000 != 0 {
        at += if first & 0b1000 != 0 { 2 } else { 8 };
        let number = data
            .get(at..)?
            .iter()
            .take(5)
            .position(|byte| *byte < 0x80)?;
        at += number + 1;
    }
    let mut flags = 0;
    if first & 0b100 != 0 {
        flags = *data.get(at)?;
        at += 1;
    }
    if flags & 1 != 0 {
        let id = CellID(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?));
        return id.is_valid().then_some(Place::Cell(id));
    }
    let size = [0, 3, 8, 16][usize::from(first & 3)];
    point_of(data.get(at..at + size)?, location)
}

/// A point in three, eight or sixteen bytes; three need the cell in the key.
fn point_of(data: &[u8], path: &str) -> Option<Place> {
    let (lat, lon) = match data.len() {
        3 => {
            let middle = LatLng::from(cell_of(path)?);
            let low = i64::from(u32::from_le_bytes([data[0], data[1], data[2], 0]));
            let nearest = |low: i64, middle: f64| {
                let middle = (middle * 1e7).round() as i64;
                (middle + (low - middle + 2048).rem_euclid(4096) - 2048) as f64 / 1e7
            };
            (
                nearest(low >> 12, middle.lat.deg()),
                nearest(low & 0xfff, middle.lng.deg()),
            )
        }
        8 => {
            let e7 = |half: &[u8]| Some(f64::from(i32::from_le_bytes(half.try_into().ok()?)) / 1e7);
            (e7(&data[..4])?, e7(&data[4..])?)
        }
        16 => {
            let degrees = |half: &[u8]| Some(f64::from_le_bytes(half.try_into().ok()?));
            (degrees(&data[..8])?, degrees(&data[8..])?)
        }
        _ => return None,
    };
    (lat.abs() <= 90.0 && lon.abs() <= 180.0).then_some(Place::Point(lat, lon))
}

/// The face, then two quarters (0 to 3) a chunk; an odd level ends in half a chunk, `3$*`.
fn path_of(cell: CellID) -> String {
    let mut path = (cell.0 >> 61).to_string();
    for level in 1..=cell.level() {
        if level % 2 == 1 {
            path.push('/');
        }
        let quarter = (cell.0 >> (61 - 2 * level)) & 3;
        path.push_str(&quarter.to_string());
    }
    if cell.level() % 2 == 1 {
        path.push_str("$*");
    }
    path
}

/// The cell of a path of the finest level.
fn cell_of(path: &str) -> Option<CellID> {
    let (face, chunks) = path.split_once('/')?;
    let chunks: Vec<&str> = chunks.split('/').collect();
    if chunks.len() as u64 != KEY_LEVEL / 2 || chunks.iter().any(|chunk| chunk.len() != 2) {
        return None;
    }
    let face: u64 = face.parse().ok()?;
    let position = u64::from_str_radix(&chunks.concat(), 4).ok()?;
    let bits = 2 * KEY_LEVEL;
    (face < 6).then(|| CellID(face << 61 | position << (61 - bits) | 1 << (60 - bits)))
}

fn base64url(text: &str) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            data.push((bits >> count) as u8);
        }
    }
    Some(data)
}
