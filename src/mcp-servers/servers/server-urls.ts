import type { FieldError } from '#platform/problem';
import type { SecretBox } from '#platform/secrets';
import { originOf } from '../../resources';
import { SERVER_URL_SECRETS, type ServerEntity, withoutQuery } from './server.entity';
import { URL_MAX } from './server-auth.dto';

/** A placeholder in the query of a stored URL. Imported servers use the names of the variables in `server.json`. */
const PLACEHOLDER = /\{([a-zA-Z_][a-zA-Z0-9_-]*)\}/g;
/** The placeholder of parameters that have no variable. */
const QUERY = 'query';
/** The query of a URL in a declaration. */
export const HIDDEN_QUERY = `?{${QUERY}}`;

/** The parts of a query that are stored encrypted, by their placeholders, as the URL contains them. */
export type HiddenParts = Readonly<Record<string, string>>;

/** The columns that hold the URLs of a server. */
export type UrlColumns = Pick<ServerEntity, 'url' | 'auth_token_url' | 'url_secrets'>;
type UrlColumn = 'url' | 'auth_token_url';
/** The content of `url_secrets`. */
type PartsOfUrls = Record<UrlColumn, HiddenParts>;

const POINTERS: Readonly<Record<UrlColumn, string>> = { url: '/url', auth_token_url: '/auth/token_url' };

/** Returns the names of the placeholders in the query of a URL. */
export const placeholdersIn = (url: string): string[] =>
  [...url.slice(withoutQuery(url).length).matchAll(PLACEHOLDER)].map(([, name]) => name!);

/** Replaces the placeholders in the query of a stored URL. Null if a part is not stored. */
function filled(url: string, parts: HiddenParts): string | null {
  if (placeholdersIn(url).some((name) => !Object.hasOwn(parts, name))) return null;
  const base = withoutQuery(url);
  return base + url.slice(base.length).replace(PLACEHOLDER, (_, name: string) => parts[name]!);
}

/**
 * Hides the query of a URL, because any of its parameters may be a key. Parameters with a placeholder stay as they are.
 * Each run of other parameters becomes one placeholder.
 *
 * @param parts the parts of the placeholders that the URL already has
 */
function hidden(url: string, parts: HiddenParts): { url: string; parts: HiddenParts } {
  const base = withoutQuery(url);
  const query = url.slice(base.length + 1);
  const names = placeholdersIn(url);
  const kept: Record<string, string> = {};
  for (const name of names) if (Object.hasOwn(parts, name)) kept[name] = parts[name]!;
  const shown: string[] = [];
  let run: string[] = [];
  const endRun = (): void => {
    const text = run.join('&');
    run = [];
    if (text === '') return;
    let name = QUERY;
    for (let count = 2; names.includes(name); count++) name = `${QUERY}_${count}`;
    names.push(name);
    kept[name] = text;
    shown.push(`{${name}}`);
  };
  for (const parameter of query.split('&')) {
    if (placeholdersIn(`?${parameter}`).length === 0) {
      run.push(parameter);
      continue;
    }
    endRun();
    shown.push(parameter);
  }
  endRun();
  return { url: shown.length === 0 ? base : `${base}?${shown.join('&')}`, parts: kept };
}

/** Returns the fault of a URL of a new server, which has no stored parts. @param parts the parts that come with it */
export function newUrlFaults(
  url: string | null | undefined,
  pointer: string,
  parts: HiddenParts,
): FieldError[] {
  const missing = placeholdersIn(url ?? '').find((name) => !Object.hasOwn(parts, name));
  if (missing === undefined) return [];
  const detail = `has the placeholder {${missing}}, but no value is stored for it. Send the query itself; write literal braces as %7B and %7D.`;
  return [{ pointer, detail }];
}

/** Returns the columns of the URLs of a new server. Its URLs have no fault. @param parts the parts of `url` */
export function newUrlColumns(
  serverId: string,
  urls: Pick<ServerEntity, UrlColumn>,
  parts: HiddenParts,
  box: SecretBox,
): UrlColumns {
  const url = hidden(urls.url, parts);
  const tokenUrl = urls.auth_token_url === null ? NO_URL : hidden(urls.auth_token_url, {});
  const text = textOf({ url: url.parts, auth_token_url: tokenUrl.parts });
  return {
    url: url.url,
    auth_token_url: tokenUrl.url,
    url_secrets: text === null ? null : box.seal(text, SERVER_URL_SECRETS.of(serverId)),
  };
}

/**
 * Returns the columns of the URLs of a server after a patch, and its faults. A placeholder in a URL keeps the stored part,
 * but not for another origin.
 *
 * @param next the URLs after the patch, as sent
 */
export function patchedUrlColumns(
  row: ServerEntity,
  next: Pick<ServerEntity, UrlColumn>,
  box: SecretBox,
): { columns: Partial<UrlColumns>; faults: FieldError[] } {
  if (next.url === row.url && next.auth_token_url === row.auth_token_url) return { columns: {}, faults: [] };
  const stored = partsOf(row, box);
  const faults: FieldError[] = [];
  const patched = (column: UrlColumn): { url: string | null; parts: HiddenParts } => {
    const [before, after] = [row[column], next[column]];
    if (after === null) return NO_URL;
    if (after === before) return { url: after, parts: stored[column] };
    const detail = patchFault(before, after, stored[column]);
    if (detail !== null) faults.push({ pointer: POINTERS[column], detail });
    return hidden(after, stored[column]);
  };
  const [url, tokenUrl] = [patched('url'), patched('auth_token_url')];
  const text = textOf({ url: url.parts, auth_token_url: tokenUrl.parts });
  const isSame = text !== null && box.isSame(row.url_secrets, text, SERVER_URL_SECRETS.of(row.server_id));
  const columns = {
    url: url.url!,
    auth_token_url: tokenUrl.url,
    ...(!isSame && {
      url_secrets: text === null ? null : box.seal(text, SERVER_URL_SECRETS.of(row.server_id)),
    }),
  };
  return { columns, faults };
}

function patchFault(before: string | null, after: string, parts: HiddenParts): string | null {
  const names = placeholdersIn(after);
  const known = before === null ? [] : placeholdersIn(before);
  const misplaced = known.find((name) => withoutQuery(after).includes(`{${name}}`));
  if (misplaced !== undefined) return `must have the placeholder {${misplaced}} in its query, after \`?\``;
  if (names.length === 0) return null;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return `has the placeholder {${unknown}}, but no value is stored for it. Send the query itself; write literal braces as %7B and %7D.`;
  }
  if (before !== null && originOf(after) !== originOf(before)) {
    return `must have its whole query instead of {${names[0]}}, because the URL's origin changed. Secrets are never sent to a new origin.`;
  }
  const length = (filled(after, parts) ?? after).length;
  return length > URL_MAX ? `must have at most ${URL_MAX} characters with its query` : null;
}

/** The URLs of a server, with the parts that are stored encrypted. */
export interface FullUrls {
  url: string;
  auth_token_url: string | null;
  /** The texts that no message may repeat. */
  secrets: readonly string[];
}

/** Returns the URLs of a server. Null if a part of them is not stored. */
export function fullUrls(row: UrlColumns & Pick<ServerEntity, 'server_id'>, box: SecretBox): FullUrls | null {
  const parts = partsOf(row, box);
  const url = filled(row.url, parts.url);
  const tokenUrl = row.auth_token_url === null ? null : filled(row.auth_token_url, parts.auth_token_url);
  if (url === null || (tokenUrl === null && row.auth_token_url !== null)) return null;
  const texts = Object.values(parts).flatMap((one) => Object.values(one));
  return { url, auth_token_url: tokenUrl, secrets: texts.flatMap(secretsIn) };
}

/** Shorter values, such as `1` or `true`, are no keys. */
const SECRET_MIN = 6;

/** Returns a part of a query, and the values of its parameters, encoded and decoded. The longest comes first. */
const secretsIn = (text: string): string[] =>
  [
    ...new Set([
      text,
      ...text.split('&').map((parameter) => parameter.slice(parameter.indexOf('=') + 1)),
      ...new URLSearchParams(text.includes('=') ? text : `_=${text}`).values(),
    ]),
  ]
    .filter(({ length }) => length >= SECRET_MIN)
    .sort((one, other) => other.length - one.length);

const NO_URL = { url: null, parts: {} };
const NO_PARTS: PartsOfUrls = { url: {}, auth_token_url: {} };

const textOf = (parts: PartsOfUrls): string | null =>
  Object.values(parts).every((one) => Object.keys(one).length === 0) ? null : JSON.stringify(parts);

function partsOf({ server_id, url_secrets }: UrlColumns & Pick<ServerEntity, 'server_id'>, box: SecretBox) {
  if (url_secrets === null) return NO_PARTS;
  return JSON.parse(box.open(url_secrets, SERVER_URL_SECRETS.of(server_id))) as PartsOfUrls;
}
