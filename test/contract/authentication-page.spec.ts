import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROLES } from '#platform/auth';
import { AUTHENTICATION_CODES } from '#platform/problem';
import { readClaims } from '../../libs/platform/auth/claims';
import { parseIssuers } from '../../libs/platform/auth/issuer.config';

const page = readFileSync(path.resolve('docs/reference/authentication.md'), 'utf8');
const roles = readFileSync(path.resolve('docs/reference/roles.md'), 'utf8');

/** The first JSON examples of the page: an `AUTH_ISSUERS`, and the claims of a token of its issuer. */
const [issuers, claims] = [...page.matchAll(/```json\n([^]*?)```/g)].map(
  ([, text]) => JSON.parse(text!) as unknown,
) as [unknown, Record<string, unknown>];

describe('the page on authentication', () => {
  it('shows a valid AUTH_ISSUERS', () => {
    const [issuer] = parseIssuers(issuers);
    expect(issuer).toMatchObject({ issuer: claims['iss'], algorithms: ['RS256'], provision: true });
    expect(issuer!.roles.has('owner')).toBe(false);
  });

  it('contains a token that the service reads as documented', () => {
    const [issuer] = parseIssuers(issuers);
    const token = readClaims(claims, issuer!.claims);
    expect(token).toMatchObject({ iss: issuer!.issuer, userId: claims['sub'], principalType: null });
    expect(token.aud.some((one) => issuer!.audience.includes(one))).toBe(true);
    expect(issuer!.orgIds).toEqual(new Set([token.orgId]));
    expect(token.roles.filter((role) => (ROLES as readonly string[]).includes(role))).toEqual(['evaluator']);
  });

  it('lists every authentication error code', () => {
    expect(AUTHENTICATION_CODES.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });
});

describe('the page on roles', () => {
  it('lists every role', () => {
    const listed = [...roles.matchAll(/^\| `(\w+)` +\|/gm)].map(([, role]) => role);
    expect(listed).toEqual([...ROLES]);
  });
});
