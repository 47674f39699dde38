import { promisify } from 'node:util';
import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { CompactSign, type JWK } from 'jose';
import type { OrgScope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { canonicalJson } from '#platform/json';
import { type Page, toPage } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import { SealedColumn, SecretBox } from '#platform/secrets';
import { AuditLog, createdChanges } from '../../../resources';
import {
  type CreateSigningKeyDto,
  type SigningKeyDto,
  toSigningKeyDto,
  type SigningKeyListQueryDto,
} from './org-signing-key.dto';
import type { OrgSigningKeyEntity } from './org-signing-key.entity';
import { OrgSigningKeyRepository } from './org-signing-key.repository';

export const ORG_SIGNING_KEY_SECRET = new SealedColumn('org_signing_keys', 'private_jwk', 'kid');

const ALGORITHM = 'EdDSA';

/** Maximum number of unrevoked keys of an organization. */
const ORG_KEYS_MAX = 10;
/**
 * Maximum number of unrevoked keys of all organizations. `/.well-known/jwks.json` contains them all, at about 190 bytes each, so
 * this limits it to 1 MiB.
 */
const PUBLISHED_KEYS_MAX = 5_000;

const newKeyPair = promisify(generateKeyPair);

/**
 * Manages the optional keys that organizations sign with, for example the releases that they publish. These keys never sign or
 * verify tokens.
 */
@Injectable()
export class OrgSigningService {
  constructor(
    private readonly database: Database,
    private readonly keys: OrgSigningKeyRepository,
    private readonly box: SecretBox,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Returns a compact JWS (RFC 7515) with Ed25519 (RFC 8037) over the canonical JSON of the payload, or null if the
   * organization has no key.
   *
   * @param typ the type of the payload. It distinguishes signatures for different purposes
   * @param on the caller's transaction, if there is one
   */
  async sign(scope: OrgScope, payload: object, typ: string, on?: SqlExecutor): Promise<string | null> {
    const current = await this.keys.findCurrent(scope, on);
    if (!current) return null;
    return new CompactSign(Buffer.from(canonicalJson(payload)))
      .setProtectedHeader({ alg: ALGORITHM, typ, kid: current.kid })
      .sign(this.open(current));
  }

  /**
   * Creates a key, which signs from then on. Earlier keys stay published, so that their signatures can still be verified.
   * Errors: 409 if the organization has 10 unrevoked keys, or all organizations together have 5,000.
   */
  async create(scope: OrgScope, dto: CreateSigningKeyDto): Promise<SigningKeyDto> {
    const { privateKey } = await newKeyPair('ed25519');
    const { d, ...jwk } = privateKey.export({ format: 'jwk' });
    const kid = newId('sig');
    const now = new Date();
    const row: OrgSigningKeyEntity = {
      kid,
      org_id: scope.orgId,
      name: dto.name ?? null,
      x: jwk.x!,
      private_jwk: this.box.seal(JSON.stringify({ ...jwk, d }), ORG_SIGNING_KEY_SECRET.of(kid)),
      revoked_at: null,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
    };
    await this.database.transaction(async (tx) => {
      const published = await this.keys.changePublished(tx, 1);
      if ((await this.keys.countUnrevoked(tx, scope)) >= ORG_KEYS_MAX) {
        throw problem.conflict(
          `An organization can have at most ${ORG_KEYS_MAX} signing keys that are not revoked. Revoke one first.`,
        );
      }
      if (published > PUBLISHED_KEYS_MAX) {
        throw problem.conflict(
          `The service already has ${PUBLISHED_KEYS_MAX} signing keys, which is its limit. Ask the operator to revoke unused keys.`,
        );
      }
      await this.keys.insert(row, tx);
      await this.record(tx, scope, row, 'create');
    });
    return toSigningKeyDto(row, kid);
  }

  async list(scope: OrgScope, query: SigningKeyListQueryDto): Promise<Page<SigningKeyDto>> {
    const page = await this.keys.list(scope, query);
    const currentKid = await this.currentKid(scope);
    return toPage(page, (row) => toSigningKeyDto(row, currentKid));
  }

  /** Returns a key. Errors: 404. */
  async get(scope: OrgScope, kid: string): Promise<SigningKeyDto> {
    const row = orNotFound(await this.keys.find(scope, kid), 'signing key', kid);
    return toSigningKeyDto(row, await this.currentKid(scope));
  }

  /**
   * Revokes a key: it is no longer published, and its private key is deleted. If it was the key that signs, the newest
   * unrevoked key signs from then on. Idempotent. Errors: 404.
   */
  revoke(scope: OrgScope, kid: string): Promise<SigningKeyDto> {
    return this.database.transaction(async (tx) => {
      const row = orNotFound(await this.keys.lock(tx, scope, kid, 'update'), 'signing key', kid);
      if (row.revoked_at) return toSigningKeyDto(row, null);
      const now = new Date();
      const columns = { revoked_at: now, updated_at: now, private_jwk: null };
      await this.keys.changePublished(tx, -1);
      await this.keys.update(tx, scope, kid, columns);
      await this.record(tx, scope, row, 'revoke');
      return toSigningKeyDto({ ...row, ...columns }, null);
    });
  }

  /** Returns a number that changes whenever `publicKeys` changes. Reads a single row. */
  generation(): Promise<number> {
    return this.keys.generation();
  }

  /** Returns the public keys of all organizations, at most 5,000. `org_id` names the organization of a key. */
  async publicKeys(): Promise<JWK[]> {
    const rows = await this.keys.findPublished();
    return rows.map(({ kid, org_id, x }) => ({
      kty: 'OKP',
      crv: 'Ed25519',
      x,
      kid,
      use: 'sig',
      alg: ALGORITHM,
      org_id,
    }));
  }

  private async currentKid(scope: OrgScope): Promise<string | null> {
    return (await this.keys.findCurrent(scope))?.kid ?? null;
  }

  private open({ kid, private_jwk }: { kid: string; private_jwk: string }): KeyObject {
    const key = JSON.parse(this.box.open(private_jwk, ORG_SIGNING_KEY_SECRET.of(kid))) as JWK;
    return createPrivateKey({ key, format: 'jwk' });
  }

  private record(
    tx: Tx,
    scope: OrgScope,
    row: OrgSigningKeyEntity,
    action: 'create' | 'revoke',
  ): Promise<void> {
    return this.audit.record(tx, scope, {
      action,
      type: 'signing_key',
      id: row.kid,
      workspaceId: null,
      changes: createdChanges({ name: row.name }),
    });
  }
}
