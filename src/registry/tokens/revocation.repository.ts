import { Injectable } from '@nestjs/common';
import { sql, type Tx } from '#platform/db';

export interface Revocation {
  issuer: string;
  jti: string;
  /** Null for a platform principal. */
  orgId: string | null;
  /** The time at which the token expires, or null if it is unknown. */
  expiresAt: Date | null;
  principalId: string;
}

@Injectable()
export class RevocationRepository {
  /** Stores or extends a revocation, and deletes the revocations of expired tokens. */
  async add(tx: Tx, { issuer, jti, orgId, expiresAt, principalId }: Revocation): Promise<void> {
    await tx.query('DELETE FROM revoked_tokens WHERE expires_at < now()');
    await tx.query(
      sql`INSERT INTO revoked_tokens AS r (issuer, jti, org_id, expires_at, created_by)
        VALUES (${issuer}, ${jti}, ${orgId ?? ''}, ${expiresAt}, ${principalId})
        ON CONFLICT (issuer, jti, org_id) DO UPDATE
          SET expires_at = CASE WHEN r.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
                                ELSE greatest(r.expires_at, excluded.expires_at) END`,
    );
  }
}
