import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';

export interface Revocation {
  issuer: string;
  jti: string;
  /** Null for a platform principal. */
  orgId: string | null;
  /** When the token has expired anyway; null where that is not known. */
  expiresAt: Date | null;
  principalId: string;
}

@Injectable()
export class RevocationRepository {
  /** Writes a revocation, for the longer of two times where it is there already, and drops those that have expired. */
  async add(tx: Tx, { issuer, jti, orgId, expiresAt, principalId }: Revocation): Promise<void> {
    await tx.query('DELETE FROM revoked_tokens WHERE expires_at < now()');
    await tx.query(
      `INSERT INTO revoked_tokens AS r (issuer, jti, org_id, expires_at, created_by)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (issuer, jti, org_id) DO UPDATE
         SET expires_at = CASE WHEN r.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
                               ELSE greatest(r.expires_at, excluded.expires_at) END`,
      [issuer, jti, orgId ?? '', expiresAt, principalId],
    );
  }
}
