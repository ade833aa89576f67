//! Lists of names in settings, in the form of PostgreSQL's own lists, such as `search_path`.

/// The length from which PostgreSQL cuts a name.
const TOO_LONG: usize = pgrx::pg_sys::NAMEDATALEN as usize;

/// Reads a list of names. A name without double quotes is folded to lower case; two double quotes
/// within a quoted name are one. Each name is returned once.
///
/// # Errors
/// A name is empty, too long, or not closed, as a sentence.
pub fn read(list: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut rest = list.trim();
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => read_quoted(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let name = rest[..end].trim();
                if name.contains(|c: char| c == '"' || c.is_whitespace()) {
                    return Err(format!("\"{name}\" is not a name. Put it in double quotes."));
                }
                (name.to_lowercase(), &rest[end..])
            }
        };
        if name.is_empty() || name.len() >= TOO_LONG {
            return Err(format!("A name has from 1 to {} bytes.", TOO_LONG - 1));
        }
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) if next.trim().is_empty() => {
                return Err("The list ends with a comma.".into());
            }
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return Err("There is no comma between two names.".into()),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Reads a name up to its closing double quote. Returns it, and what comes after it.
fn read_quoted(text: &str) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let Some((before, after)) = rest.split_once('"') else {
            return Err("A double quote is not closed.".into());
        };
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Ok((name, after)),
        }
    }
}
