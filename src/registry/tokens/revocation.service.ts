import { Injectable } from '@nestjs/common';
import {
  AccountChanges,
  Authenticator,
  ownIssuer,
  type Principal,
  rolesEverywhere,
  type VerifiedToken,
} from '#platform/auth';
import { Environment } from '#platform/config';
import { parseTime } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import { AuditLog } from '../../resources';
import { type Revocation, RevocationRepository } from './revocation.repository';
import { TOKEN_SECONDS } from './signing-key.service';
import { keyIdOf } from './token-id';
import type { RevokedTokenDto, RevokeTokenDto } from './token.dto';

/** Time that a revocation outlasts its token, because clock skew can extend the life of a token. */
const MARGIN_MS = 120_000;

/** Revokes tokens: the caller's own, or as an admin any token of the organization. */
@Injectable()
export class RevocationService {
  private readonly ownIssuer: string;

  constructor(
    environment: Environment,
    private readonly authenticator: Authenticator,
    private readonly changes: AccountChanges,
    private readonly revocations: RevocationRepository,
    private readonly audit: AuditLog,
  ) {
    this.ownIssuer = ownIssuer(environment);
  }

  /**
   * Revokes a token. Errors: 400 for a missing or invalid token; 403 for another principal's token without the role admin, and
   * for a token of another key if the caller's key is limited.
   * Revoked and expired tokens are not errors.
   */
  async revoke(principal: Principal, requestId: string, dto: RevokeTokenDto): Promise<RevokedTokenDto> {
    if ((dto.token === undefined) === (dto.jti === undefined)) {
      throw problem.invalidField('', 'must have either `token` or `jti`');
    }
    const revocation =
      dto.token === undefined
        ? this.revocationOfId(principal, dto.jti ?? '', dto)
        : await this.revocationOfToken(principal, dto.token);
    this.checkKey(principal, revocation);
    const orgId = revocation.orgId ?? '';
    await this.changes.run(orgId, async (tx) => {
      await this.revocations.add(tx, revocation);
      await this.audit.record(
        tx,
        { orgId, principalId: principal.id, requestId },
        {
          action: 'revoke',
          type: 'token',
          id: revocation.jti,
          workspaceId: null,
          changes: [{ member: 'issuer', after: revocation.issuer }],
        },
      );
    });
    return { issuer: revocation.issuer, jti: revocation.jti, expires_at: revocation.expiresAt };
  }

  /** Throws 403 if the caller's key is limited, and the token was not exchanged for the same key. */
  private checkKey({ allow, credential }: Principal, { issuer, jti }: Revocation): void {
    if (!allow) return;
    const keyId = credential.kind === 'api_key' ? credential.keyId : keyIdOf(credential.jti ?? '');
    if (issuer === this.ownIssuer && keyIdOf(jti) === keyId) return;
    throw problem.forbidden(
      'A limited key can revoke only its own tokens. Use another credential to revoke this one.',
    );
  }

  private async revocationOfToken(principal: Principal, text: string): Promise<Revocation> {
    const token = await this.read(text);
    const own = token.type === principal.type && token.id === principal.id && token.orgId === principal.orgId;
    if (!own) {
      // A token of another organization gets the same response as an invalid one.
      if (token.orgId === null || token.orgId !== principal.orgId) throw invalidToken();
      requireAdmin(principal, 'revoke the token of another principal');
    }
    if (token.jti === null) {
      throw problem.invalidField(
        '/token',
        'has no jti, so it cannot be revoked. Suspend its account instead',
      );
    }
    return {
      issuer: token.issuer.issuer,
      jti: token.jti,
      orgId: token.orgId,
      expiresAt: new Date(token.expiresAt.getTime() + MARGIN_MS),
      principalId: principal.id,
    };
  }

  private revocationOfId(principal: Principal, jti: string, dto: RevokeTokenDto): Revocation {
    const issuer = dto.issuer ?? this.ownIssuer;
    const { credential } = principal;
    const own = credential.kind === 'token' && credential.issuer === issuer && credential.jti === jti;
    if (!own) requireAdmin(principal, 'revoke any token but your own by its `jti`');
    return {
      issuer,
      jti,
      orgId: principal.orgId,
      expiresAt: expiryOf(dto, own ? credential.expiresAt : null, issuer === this.ownIssuer),
      principalId: principal.id,
    };
  }

  /** Verifies a token. Errors: 400 for an invalid token. */
  private async read(text: string): Promise<VerifiedToken> {
    try {
      return await this.authenticator.verifyToken(text);
    } catch (error) {
      if (error instanceof Problem && error.status === 401) throw invalidToken();
      throw error;
    }
  }
}

function expiryOf(dto: RevokeTokenDto, ownExpiry: Date | null, isOwnIssuer: boolean): Date | null {
  if (ownExpiry) return new Date(ownExpiry.getTime() + MARGIN_MS);
  if (isOwnIssuer) return new Date(Date.now() + TOKEN_SECONDS * 1000 + MARGIN_MS);
  const expiresAt = dto.expires_at ? parseTime(dto.expires_at) : null;
  return expiresAt && new Date(expiresAt.getTime() + MARGIN_MS);
}

function requireAdmin(principal: Principal, purpose: string): void {
  if (!rolesEverywhere(principal).has('admin')) {
    throw problem.accessDenied(`To ${purpose}, you need the role admin in the whole organization.`);
  }
}

const invalidToken = (): Problem =>
  problem.invalidField('/token', 'is not a valid token of the organization');
