import { Injectable } from '@nestjs/common';
import { Problem, problem, problemOfDatabaseError } from '#platform/problem';
import { type Account, AccountDirectory } from './account-directory';
import type { Principal } from '#platform/scope';
import { buildPrincipal, isBound, NO_GRANT } from './principal-builder';
import { PrincipalCache } from './principal-cache';
import { TokenVerifier, type VerifiedToken } from './token-verifier';

export const API_KEY_PREFIX = 'rsk_';

/** The form of every account's id, so that it can stand in a path; nothing else is looked up. */
const ACCOUNT_ID = /^[\x21-\x7e]{1,255}$/;

/** Turns a bearer credential, a token or an API key, into the principal it stands for. */
@Injectable()
export class Authenticator {
  constructor(
    private readonly verifier: TokenVerifier,
    private readonly directory: AccountDirectory,
    private readonly cache: PrincipalCache,
  ) {}

  /**
   * The principal of a credential, remembered for up to `AUTH_CACHE_SECONDS`. Errors: the 401 codes, 403
   * `account_suspended`, and 503 `auth_unavailable` when keys or accounts cannot be read.
   */
  authenticate(credential: string): Promise<Principal> {
    return this.cache.find(credential, () => this.verify(credential));
  }

  /** The principal of a credential that is remembered. */
  recall(credential: string): Principal | undefined {
    return this.cache.recall(credential);
  }

  /** The same, read afresh and not remembered: for the exchange of a key, which outlives what is remembered. */
  verify(credential: string): Promise<Principal> {
    return unlessUnavailable(
      credential.startsWith(API_KEY_PREFIX) ? this.holderOf(credential) : this.bearerOf(credential),
    );
  }

  /** Verifies a token alone, whatever may have become of its account: for revoking it. */
  verifyToken(token: string): Promise<VerifiedToken> {
    return unlessUnavailable(this.verifier.verify(token));
  }

  private async bearerOf(text: string): Promise<Principal> {
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
        credential,
      } satisfies Principal);
    }
    const account = ACCOUNT_ID.test(token.orgId)
      ? await this.directory.findAccount({
          type: token.type,
          accountId: token.id,
          orgId: token.orgId,
          provision: token.issuer.provision,
        })
      : null;
    if (!account) throw unknownAccount();
    return usable(account, buildPrincipal(account, token, credential));
  }

  private async holderOf(apiKey: string): Promise<Principal> {
    const holder = await this.directory.findKeyHolder(apiKey);
    if (!holder) {
      throw problem.unauthenticated('invalid_api_key', 'The API key is unknown, revoked or expired.');
    }
    const { account, keyId, expiresAt } = holder;
    return usable(account, buildPrincipal(account, NO_GRANT, { kind: 'api_key', keyId, expiresAt }));
  }
}

/** Thirteen and fourteen: a service account needs a workspace, and everybody an account that is not suspended. */
function usable(account: Account, principal: Principal): Principal {
  if (account.type === 'service_account' && !isBound(principal)) {
    throw problem.unauthenticated(
      'token_service_account_unbound',
      'The service account has no workspace. Ask an admin to assign one.',
    );
  }
  if (account.status === 'suspended') {
    throw new Problem('account_suspended', 'The account or its organization is suspended. Ask an admin.');
  }
  return principal;
}

/** Twelve: the organization, and the account in it, are known here. */
const unknownAccount = (): Problem =>
  problem.unauthenticated('unknown_account', 'The organization or account in the token does not exist.');

/** When accounts cannot be read nobody can be authenticated, which is another matter than a failing request. */
async function unlessUnavailable<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Problem) throw error;
    const ofDatabase = problemOfDatabaseError(error);
    if (!ofDatabase || ofDatabase.status < 500) throw error;
    throw new Problem('auth_unavailable', 'The account data is unavailable. Try again later.', {
      headers: { 'Retry-After': '1' },
      cause: error,
    });
  }
}
