/** Longer addresses are nobody's. */
export const REPO_URL_MAX = 2_048;

/** Ways to reach a repository, each with the port that goes without saying. */
const DEFAULT_PORTS: Record<string, string> = { https: '443', http: '80', git: '9418' };

/** Of ssh the port is a way in, and does not tell repositories of one host apart. */
const SSH = 'ssh';

/** Hosts that answer ssh on the port of https, for networks that let nothing else out. */
const SSH_HOSTS: Record<string, string> = {
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
  'altssh.bitbucket.org': 'bitbucket.org',
};

const SCHEME = /^(?:git\+)?(https?|ssh|git)(?:\+git)?:\/\//i;

/**
 * `[user@]host:path`, as scp and git have it: without a scheme, and with a colon before the first slash. Without a user,
 * the host has a dot: others are the names of files, and what people call hosts on their own machine. What has an `@`
 * before its first slash again is a user and a password, of an address whose scheme was left out.
 */
const SCP_LIKE =
  /^(?:[^@:/]+@([^@:/[\]]+|\[[0-9a-f:.]+\])|([^@:/[\]]+\.[^@:/[\]]+)):(?!\/\/)([^@/]*(?:\/.*)?)$/i;

/**
 * The one address that all forms of a repository's address come to, as `https://host[:port]/path`: of https, http, git
 * and ssh, and the form of scp; with or without `.git`, a user, a password, the usual port, slashes at the end; with the
 * host in any case. What is not part of the address, a password among it, is not in the result. Null for a text that is
 * no such address, such as a path of a file.
 *
 * @param text of at most `REPO_URL_MAX` characters
 */
export function normalizeRepoUrl(text: string): string | null {
  const given = text.trim();
  if (/[\s\p{Cc}\\]/u.test(given)) return null;
  const scheme = SCHEME.exec(given);
  if (scheme) return addressOf(scheme[1]!.toLowerCase(), given.slice(scheme[0].length));
  const scp = SCP_LIKE.exec(given);
  return scp ? addressOf(SSH, `${scp[1] ?? scp[2]}/${scp[3]}`) : null;
}

/** @param rest what follows `//` */
function addressOf(scheme: string, rest: string): string | null {
  // by the scheme of the web, of which hosts are read strictly, and in lower case
  const url = parse(`https://${rest}`);
  if (!url || url.search !== '' || url.hash !== '' || /[?#]/.test(rest)) return null;
  const path = pathOf(rest);
  if (path === null) return null;
  const host = url.hostname.replace(/\.$/, '');
  // the parser takes 443 for granted
  const port = url.port === '' && /^[^/]*:443(?:\/|$)/.test(rest) ? '443' : url.port;
  const tellsApart = scheme !== SSH && port !== '' && port !== DEFAULT_PORTS[scheme];
  const address = `https://${SSH_HOSTS[host] ?? host}${tellsApart ? `:${port}` : ''}/${path}`;
  return address.length <= REPO_URL_MAX ? address : null;
}

function parse(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Without empty segments and `.git`; null where it leaves the host's root, or there is none. */
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

/** Neither a step, nor one with an escaped control character. */
const isName = (segment: string): boolean =>
  !/^\.{1,2}$/.test(segment) && !/%(?:[01][0-9A-F]|7F)/.test(segment);

/** A segment with nothing escaped that need not be (RFC 3986, section 6.2.2.2). */
function plain(segment: string): string {
  return segment
    .replace(/%[0-9a-f]{2}/gi, (escaped) => {
      const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
      return /[A-Za-z0-9._~-]/.test(character) ? character : escaped.toUpperCase();
    })
    .replace(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** As long as a name may be. */
const NAME_MAX = 255;

/** What a repository is called where it was given no name: the last part of its path, where that can be read. */
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
