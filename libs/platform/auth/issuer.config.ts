import { isJsonObject } from '#platform/json';
import { StartError } from '#platform/process';
import { type Algorithm, ALGORITHMS, isAlgorithm } from './algorithms';
import { CLAIM_NAMES, type ClaimMapping, type ClaimName } from './claims';
import { isRole, type Role, ROLES } from '#platform/scope';

/** A validated entry of `AUTH_ISSUERS`. */
export interface IssuerConfig {
  /** `iss` of its tokens, compared character by character. */
  readonly issuer: string;
  /** Its tokens are accepted when their `aud` names one of these. */
  readonly audience: readonly string[];
  /** Its keys: a URL to fetch them from, or the set itself. */
  readonly keys: { readonly uri: string } | { readonly set: unknown };
  readonly algorithms: readonly Algorithm[];
  /** The organizations it may issue tokens for. */
  readonly orgIds: ReadonlySet<string> | '*';
  /** The roles that its tokens may carry. Others are dropped. */
  readonly roles: ReadonlySet<Role>;
  /** Allows tokens of platform principals. */
  readonly platform: boolean;
  readonly claims: ClaimMapping;
  /** Creates unknown users of known organizations. */
  readonly provision: boolean;
}

const DEFAULT_ALGORITHMS: readonly Algorithm[] = ['RS256', 'ES256', 'EdDSA'];

const MEMBERS = new Set([
  'issuer',
  'audience',
  'jwks_uri',
  'jwks',
  'algorithms',
  'org_ids',
  'roles',
  'platform',
  'claims',
  'provision',
]);

type Entry = Record<string, unknown>;

/**
 * Validates `AUTH_ISSUERS`. Rejects unknown members, because a misspelled restriction would otherwise not apply.
 *
 * @throws StartError that names the variable, the entry and the invalid member. It stops the start.
 */
export function parseIssuers(value: unknown): IssuerConfig[] {
  if (!Array.isArray(value)) throw fault('', 'must be a JSON array of issuers');
  const issuers = value.map((entry: unknown, i) => parseIssuer(entry, `[${i}]`));
  const seen = new Set<string>();
  issuers.forEach(({ issuer }, i) => {
    if (seen.has(issuer)) throw fault(`[${i}].issuer`, 'must be unique: another entry has the same issuer');
    seen.add(issuer);
  });
  return issuers;
}

function parseIssuer(value: unknown, at: string): IssuerConfig {
  if (!isJsonObject(value)) throw fault(at, 'must be an object');
  const unknown = Object.keys(value).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) throw fault(`${at}.${unknown}`, 'is not a known member of an issuer');
  const audience = value['audience'];
  return {
    issuer: text(value['issuer'], `${at}.issuer`),
    audience: Array.isArray(audience)
      ? texts(audience, `${at}.audience`)
      : [text(audience, `${at}.audience`)],
    keys: parseKeys(value, at),
    algorithms: parseAlgorithms(value['algorithms'], `${at}.algorithms`),
    orgIds:
      value['org_ids'] === '*'
        ? '*'
        : new Set(texts(value['org_ids'], `${at}.org_ids`, 'a non-empty array of organizations, or "*"')),
    roles: parseRoles(value['roles'], `${at}.roles`),
    platform: flag(value['platform'], `${at}.platform`),
    claims: parseClaims(value['claims'], `${at}.claims`),
    provision: flag(value['provision'], `${at}.provision`),
  };
}

function parseKeys(entry: Entry, at: string): IssuerConfig['keys'] {
  const { jwks_uri: uri, jwks: set } = entry;
  if ((uri === undefined) === (set === undefined))
    throw fault(at, 'must have exactly one of jwks_uri and jwks');
  if (uri !== undefined) {
    const address = text(uri, `${at}.jwks_uri`);
    if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
      throw fault(`${at}.jwks_uri`, 'must be an http or https URL');
    }
    return { uri: address };
  }
  const keys = isJsonObject(set) ? set['keys'] : undefined;
  if (!Array.isArray(keys) || keys.length === 0)
    throw fault(`${at}.jwks`, 'must be a JWK set: {"keys": [...]}');
  keys.forEach((key: unknown, i) => {
    const place = `${at}.jwks.keys[${i}]`;
    if (!isJsonObject(key)) throw fault(place, 'must be an object');
    if ('d' in key || 'k' in key) throw fault(place, 'must be a public key: remove its private part');
  });
  return { set };
}

function parseAlgorithms(value: unknown, at: string): readonly Algorithm[] {
  if (value === undefined) return DEFAULT_ALGORITHMS;
  const names = texts(value, at);
  const unsupported = names.find((name) => !isAlgorithm(name));
  if (unsupported !== undefined) {
    throw fault(at, `may contain only ${ALGORITHMS.join(', ')} (asymmetric algorithms), not ${unsupported}`);
  }
  return names as Algorithm[];
}

function parseRoles(value: unknown, at: string): ReadonlySet<Role> {
  if (value === undefined) return new Set(ROLES.filter((role) => role !== 'owner'));
  const names = texts(value, at);
  const unknown = names.find((name) => !isRole(name));
  if (unknown !== undefined) throw fault(at, `may contain only ${ROLES.join(', ')}, not ${unknown}`);
  return new Set(names as Role[]);
}

function parseClaims(value: unknown, at: string): ClaimMapping {
  if (value === undefined) return {};
  if (!isJsonObject(value)) throw fault(at, 'must be an object');
  const mapping: Partial<Record<ClaimName, string>> = {};
  for (const [name, place] of Object.entries(value)) {
    if (!(CLAIM_NAMES as readonly string[]).includes(name)) {
      throw fault(`${at}.${name}`, `cannot be mapped. You can map ${CLAIM_NAMES.join(', ')}`);
    }
    mapping[name as ClaimName] = text(place, `${at}.${name}`);
  }
  return mapping;
}

function flag(value: unknown, at: string): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw fault(at, 'must be true or false');
  return value;
}

function text(value: unknown, at: string): string {
  if (typeof value !== 'string' || value === '') throw fault(at, 'must be a non-empty string');
  return value;
}

function texts(value: unknown, at: string, form = 'a non-empty array of strings'): string[] {
  if (!Array.isArray(value) || value.length === 0) throw fault(at, `must be ${form}`);
  return value.map((one: unknown, i) => text(one, `${at}[${i}]`));
}

const fault = (at: string, detail: string): StartError => new StartError(`AUTH_ISSUERS${at}: ${detail}.`);
