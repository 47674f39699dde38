import { Injectable } from '@nestjs/common';
import { AccountDirectory } from './account-directory';
import { isRole, type Role } from '#platform/scope';
import { type TrustedIssuer, TrustedIssuers } from './trusted-issuers';
import * as step from './verification-steps';

/** A verified token. Whether its subject exists is looked up later. */
export interface VerifiedToken extends step.Subject {
  readonly issuer: TrustedIssuer;
  /** Roles of the token, without those that its issuer may not grant. */
  readonly roles: readonly Role[];
  /** Limits the workspaces where the roles apply. Null for no limit. */
  readonly workspaceIds: readonly string[] | null;
  readonly jti: string | null;
  readonly expiresAt: Date;
}

/** The year 9999, which is as late as RFC 3339 can express. Some issuers use later times for tokens without expiry. */
const LAST_EXPIRY_MS = Date.UTC(9999, 11, 31);

/**
 * Verifies bearer tokens. The order of the steps is part of the interface: a token with several faults gets the code of
 * the first one. The steps that concern the account follow in `Authenticator`.
 */
@Injectable()
export class TokenVerifier {
  constructor(
    private readonly issuers: TrustedIssuers,
    private readonly directory: AccountDirectory,
  ) {}

  /**
   * @param now milliseconds since 1970
   * @throws the problem of the first step that fails
   */
  async verify(text: string, now: number = Date.now()): Promise<VerifiedToken> {
    const token = step.parseToken(text, this.issuers);
    const algorithm = step.checkAlgorithm(token);
    step.checkTokenType(token);
    await step.checkRevocation(token, this.directory);
    const issuer = step.findIssuer(token);
    const key = await step.findKey(token, issuer, algorithm);
    step.checkKeyAlgorithm(key, algorithm);
    await step.verifySignature(token, key, algorithm);
    step.checkTimes(token, now);
    step.checkAudience(token, issuer);
    const subject = step.readSubject(token);
    step.checkIssuerRights(subject, issuer);
    const { roles, workspaceIds, jti, exp } = token.claims;
    return {
      ...subject,
      issuer,
      roles: roles.filter((role) => isRole(role) && issuer.roles.has(role)) as Role[],
      workspaceIds,
      jti,
      expiresAt: new Date(Math.min(exp * 1000, LAST_EXPIRY_MS)),
    };
  }
}
