/** Maximum number of characters of a URL. */
export const REPO_URL_MAX = 2_048;

/** The default ports of the schemes. */
const DEFAULT_PORTS: Record<string, string> = { https: '443', http: '80', git: '9418' };

/** The scheme whose port is ignored, because it does not distinguish the repositories of a host. */
const SSH = 'ssh';

/** Hosts that accept ssh on port 443, for networks that block other ports. */
const SSH_HOSTS: Record<string, string> = {
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
  'altssh.bitbucket.org': 'bitbucket.org',
};

const SCHEME = /^(?:git\+)?(https?|ssh|git)(?:\+git)?:\/\//i;

/**
 * The scp form, `[user@]host:path`: no scheme, and a colon before the first slash. Without a user, the host must contain a
 * dot, because other texts are file names or local host aliases. A second `@` before the first slash does not match, because
 * such a text is a URL with a user and a password whose scheme is missing.
 */
const SCP_LIKE =
  /^(?:[^@:/]+@([^@:/[\]]+|\[[0-9a-f:.]+\])|([^@:/[\]]+\.[^@:/[\]]+)):(?!\/\/)([^@/]*(?:\/.*)?)$/i;

/**
 * Returns the normal form of a repository URL, `https://host[:port]/path`, or null for any other text, such as a file path.
 * Accepts https, http, git and ssh URLs and the scp form, with or without `.git`, user, password, default port and trailing
 * slashes, and with the host in any case. The result never contains a user or a password.
 *
 * @param text at most `REPO_URL_MAX` characters
 */
export function normalizeRepoUrl(text: string): string | null {
  const trimmed = text.trim();
  if (/[\s\p{Cc}\\]/u.test(trimmed)) return null;
  const scheme = SCHEME.exec(trimmed);
  if (scheme) return addressOf(scheme[1]!.toLowerCase(), trimmed.slice(scheme[0].length));
  const scp = SCP_LIKE.exec(trimmed);
  return scp ? addressOf(SSH, `${scp[1] ?? scp[2]}/${scp[3]}`) : null;
}

/** Returns the normal form of a URL. @param rest the URL after `//` */
function addressOf(scheme: string, rest: string): string | null {
  // With the scheme https, `URL` checks the host strictly and converts it to lower case.
  const url = parse(`https://${rest}`);
  if (!url || url.search !== '' || url.hash !== '' || /[?#]/.test(rest)) return null;
  const path = pathOf(rest);
  if (path === null) return null;
  const host = url.hostname.replace(/\.$/, '');
  // `URL` drops 443, the default port of https.
  const port = url.port === '' && /^[^/]*:443(?:\/|$)/.test(rest) ? '443' : url.port;
  const isDistinct = scheme !== SSH && port !== '' && port !== DEFAULT_PORTS[scheme];
  const address = `https://${SSH_HOSTS[host] ?? host}${isDistinct ? `:${port}` : ''}/${path}`;
  return address.length <= REPO_URL_MAX ? address : null;
}

function parse(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Returns the path without empty segments and `.git`, or null for an invalid one. */
function pathOf(rest: string): string | null {
  const segments = rest
    .slice(rest.indexOf('/') < 0 ? rest.length : rest.indexOf('/'))
    .split('/')
    .filter((segment) => segment !== '')
    .map(plain);
  const last = segments.pop()?.replace(/\.git$/i, '');
  if (last === undefined || last === '') return null;
  const path = [...segments, last];
  return path.every(isName) ? path.join('/') : null;
}

/** Returns whether a segment is neither `.` nor `..` and has no escaped control character. */
const isName = (segment: string): boolean =>
  !/^\.{1,2}$/.test(segment) && !/%(?:[01][0-9A-F]|7F)/.test(segment);

/** Returns a segment without unnecessary escapes (RFC 3986, section 6.2.2.2). */
function plain(segment: string): string {
  return segment
    .replace(/%[0-9a-f]{2}/gi, (escaped) => {
      const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
      return /[A-Za-z0-9._~-]/.test(character) ? character : escaped.toUpperCase();
    })
    .replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** Maximum number of characters of a name. */
const NAME_MAX = 255;

/** Returns the default name of a repository: the last part of its path, decoded where possible. */
export function repoNameOf(url: string): string {
  const last = url.slice(url.lastIndexOf('/') + 1);
  const name = decoded(last);
  return Array.from(/[\p{Cc}/]/u.test(name) ? last : name)
    .slice(0, NAME_MAX)
    .join('');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
