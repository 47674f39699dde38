import { Injectable } from '@nestjs/common';
import { Problem, problem } from '#platform/problem';
import { type Account, AccountDirectory } from './account-directory';
import { type Credential, expandRoles, type Principal, type Role } from '#platform/scope';
import { AccountCache } from './account-cache';
import { TokenVerifier, type VerifiedToken } from './token-verifier';

export const API_KEY_PREFIX = 'rsk_';

/** Every account's id has this form, so that it can be part of a path. Other ids are not looked up. */
const ACCOUNT_ID = /^[\x21-\x7e]{1,255}$/;

/** Resolves a bearer credential, a token or an API key, to its principal. */
@Injectable()
export class Authenticator {
  constructor(
    private readonly verifier: TokenVerifier,
    private readonly directory: AccountDirectory,
    private readonly cache: AccountCache,
  ) {}

  /**
   * Returns the principal of a credential, cached for up to `AUTH_CACHE_SECONDS`.
   *
   * @throws the 401 codes, 403 `account_suspended`, and 503 `auth_unavailable` when keys or accounts cannot be read
   */
  authenticate(credential: string): Promise<Principal> {
    return this.cache.findPrincipal(credential, () => this.verify(credential));
  }

  /** Returns the cached principal of a credential. */
  getCached(credential: string): Principal | undefined {
    return this.cache.getPrincipal(credential);
  }

  /** Like `authenticate`, without the cache. Used to exchange an API key for a token, which outlives cached entries. */
  verify(credential: string): Promise<Principal> {
    return credential.startsWith(API_KEY_PREFIX)
      ? this.verifyApiKey(credential)
      : this.verifyBearer(credential);
  }

  /** Verifies a token without reading its account, so that it can be revoked in any case. */
  verifyToken(token: string): Promise<VerifiedToken> {
    return this.verifier.verify(token);
  }

  private async verifyBearer(text: string): Promise<Principal> {
    const token = await this.verifier.verify(text);
    const credential = {
      kind: 'token',
      issuer: token.issuer.issuer,
      jti: token.jti,
      expiresAt: token.expiresAt,
    } as const;
    if (!ACCOUNT_ID.test(token.id)) throw unknownAccount();
    if (token.type === 'platform' || token.orgId === null) {
      return Object.freeze({
        type: 'platform',
        id: token.id,
        orgId: null,
        roles: new Set(),
        workspaceRoles: new Map(),
        workspaceIds: new Set(),
        allow: null,
        credential,
      } satisfies Principal);
    }
    const account = ACCOUNT_ID.test(token.orgId)
      ? await this.directory.findAccount({
          type: token.type,
          accountId: token.id,
          orgId: token.orgId,
          issuer: token.issuer.issuer,
          jti: token.jti,
          provision: token.issuer.provision,
        })
      : null;
    if (!account) throw unknownAccount();
    return checkUsable(account, buildPrincipal(account, token, credential));
  }

  private async verifyApiKey(apiKey: string): Promise<Principal> {
    const holder = await this.directory.findKeyHolder(apiKey);
    if (!holder) {
      throw problem.unauthenticated(
        'invalid_api_key',
        'The API key is unknown, revoked or expired. Check it, or create another one.',
      );
    }
    const { account, keyId, expiresAt } = holder;
    return checkUsable(account, buildPrincipal(account, NO_GRANT, { kind: 'api_key', keyId, expiresAt }));
  }
}

/** Steps 13 and 14: a service account must have a workspace, and no account may be suspended. */
function checkUsable(account: Account, principal: Principal): Principal {
  if (account.type === 'service_account' && !isBound(principal)) {
    throw problem.unauthenticated(
      'token_service_account_unbound',
      'The service account has no workspace. Ask an admin to assign one.',
    );
  }
  if (account.status === 'suspended') {
    throw new Problem(
      'account_suspended',
      'The account or its organization is suspended. Ask an admin to reinstate it.',
    );
  }
  return principal;
}

/** Step 12: the organization, and the account in it, must exist. */
const unknownAccount = (): Problem =>
  problem.unauthenticated('unknown_account', 'The organization or account in the token does not exist.');

/** Roles that a token adds to its stored account, and the limit it sets. An API key has neither. */
export interface Grant {
  /** Roles in the organization, in addition to the stored ones. */
  readonly roles: readonly Role[];
  /** The only workspaces that the principal may access; null for no limit. */
  readonly workspaceIds: readonly string[] | null;
}

export const NO_GRANT: Grant = { roles: [], workspaceIds: null };

/** Combines a stored account with the grant of its token. */
export function buildPrincipal(account: Account, grant: Grant, credential: Credential): Principal {
  const limit = grant.workspaceIds && new Set(grant.workspaceIds);
  const within = (workspaceId: string): boolean => limit === null || limit.has(workspaceId);
  const stored = account.workspaceIds;
  return Object.freeze({
    type: account.type,
    id: account.id,
    orgId: account.orgId,
    roles: expandRoles([...account.roles, ...grant.roles]),
    workspaceIds: stored ? new Set(stored.filter(within)) : limit,
    workspaceRoles: new Map(
      account.memberships
        .filter(({ workspaceId }) => within(workspaceId))
        .map(({ workspaceId, roles }) => [workspaceId, expandRoles(roles)]),
    ),
    allow: account.allow,
    credential,
  });
}

/** Tells whether a principal can access any workspace. A service account without one can do nothing. */
export const isBound = ({ workspaceIds, workspaceRoles }: Principal): boolean =>
  workspaceIds === null || workspaceIds.size > 0 || workspaceRoles.size > 0;
