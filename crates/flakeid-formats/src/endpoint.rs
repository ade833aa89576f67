//! The endpoints of etcd in the settings.

/// Parses an endpoint, and returns it as a URL of scheme, host and port alone.
///
/// # Errors
/// A sentence.
pub fn url(endpoint: &str) -> Result<String, String> {
    let (scheme, place) = match endpoint.split_once("://") {
        Some((scheme @ ("http" | "https"), place)) => (scheme, place),
        Some((scheme, _)) => return Err(format!("\"{scheme}\" is not http or https.")),
        None => ("http", endpoint),
    };
    let place = place.strip_suffix('/').unwrap_or(place);
    if place.is_empty() {
        return Err("An endpoint is missing.".into());
    }
    if place.contains('@') {
        return Err(
            "An endpoint cannot contain a user or password. Use \"flakeid.etcd_user\" and \
                    \"flakeid.etcd_password_file\"."
                .into(),
        );
    }
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (place, "2379"),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:[]%".contains(c);
    // A number in Rust may have a sign.
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit())
        && port.parse::<u16>().is_ok_and(|port| port > 0);
    if host.is_empty() || !host.chars().all(is_host) || !is_port {
        return Err(format!("\"{endpoint}\" is not an endpoint such as http://10.0.0.1:2379."));
    }
    Ok(format!("{scheme}://{host}:{port}"))
}
