import { Injectable } from '@nestjs/common';
import { AccountChanges, type Allow, type OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, parseTime, Versioned } from '#platform/http';
import { type Page, toPage } from '#platform/paging';
import { problem } from '#platform/problem';
import { ApiKeyService, expiryOf, KeyAllows, type KeyLimits, ServiceAccountService } from '../../registry';
import {
  type AuditAction,
  type AuditChange,
  auditedChanges,
  changedColumns,
  checkNotMoved,
  createdChanges,
  pick,
  readable,
  ResourceKit,
} from '../../resources';
import { SpendRepository } from '../budgets/spend.repository';
import { KeyLimitsRepository } from './key-limits.repository';
import {
  ACCOUNT_PREFIX,
  type CreateGatewayKeyDto,
  type CurrentGatewayKeyDto,
  type GatewayKeyDto,
  type GatewayKeyListQueryDto,
  type NewGatewayKeyDto,
  type PatchGatewayKeyDto,
  toGatewayKeyDto,
} from './gateway-key.dto';
import type { GatewayKeyEntity, GatewayKeyRow } from './gateway-key.entity';
import { GatewayKeyRepository } from './gateway-key.repository';
import { type ModelReference, referenceOf } from './key-models';

const NOUN = 'gateway key';

/** The members whose values the audit log shows. */
const AUDITED = ['name', 'models', 'monthly_budget_usd', 'requests_per_minute', 'tokens_per_minute'] as const;

/** Manages API keys for the model gateway. Each has a service account with the role `runtime` in one workspace. */
@Injectable()
export class GatewayKeyService {
  constructor(
    private readonly kit: ResourceKit,
    private readonly changes: AccountChanges,
    private readonly serviceAccounts: ServiceAccountService,
    private readonly apiKeys: ApiKeyService,
    private readonly allows: KeyAllows,
    private readonly keys: GatewayKeyRepository,
    private readonly limits: KeyLimitsRepository,
    private readonly spend: SpendRepository,
  ) {}

  /**
   * Creates a key with its service account, and returns the key, only this once. Errors: 400 for an expiry in the past, unknown
   * models or an unknown workspace; 403; 409 for a name that is taken or an archived workspace.
   */
  create(scope: OrgScope, dto: CreateGatewayKeyDto): Promise<Versioned<NewGatewayKeyDto>> {
    const { workspace_id } = dto;
    const expiresAt = expiryOf(dto.expires_at);
    return this.changes.run(scope.orgId, async (tx) => {
      await this.kit.access.enter(tx, scope, workspace_id, ['admin']);
      const models = await this.modelIds(tx, scope, workspace_id, dto.models ?? null);
      const { service_account_id } = await this.serviceAccounts.provide(tx, scope, {
        name: ACCOUNT_PREFIX + dto.name,
        description: 'Created with a gateway key.',
        roles: ['runtime'],
        workspace_ids: [workspace_id],
      });
      const limits = {
        monthly_budget_usd: dto.monthly_budget_usd ?? null,
        requests_per_minute: dto.requests_per_minute ?? null,
        tokens_per_minute: dto.tokens_per_minute ?? null,
      };
      const { key, row: apiKey } = await this.apiKeys.add(tx, scope, {
        ...limits,
        serviceAccountId: service_account_id,
        name: dto.name,
        expiresAt,
        allow: allowOf(models),
      });
      const row: GatewayKeyEntity = {
        ...pick(apiKey, ['service_account_id', 'key_id', 'created_at', 'updated_at', 'created_by']),
        org_id: scope.orgId,
        workspace_id,
        name: dto.name,
        generation: 1,
      };
      await this.keys.insert(row, tx);
      tx.afterCommit(() => this.limits.invalidate(row.service_account_id));
      await this.record(
        tx,
        scope,
        row,
        'create',
        createdChanges({ service_account_id, name: dto.name, models, ...limits }),
      );
      const { view, version } = versioned(await this.reread(tx, scope, row.key_id));
      return new Versioned({ ...view, key }, version);
    });
  }

  async list(scope: OrgScope, query: GatewayKeyListQueryDto): Promise<Page<GatewayKeyDto>> {
    return toPage(await this.keys.list(scope, query), toGatewayKeyDto);
  }

  /** Returns a key. Errors: 404. */
  async get(scope: OrgScope, keyId: string): Promise<Versioned<GatewayKeyDto>> {
    return versioned(readable(scope, await this.keys.read(scope, keyId), NOUN, keyId));
  }

  /** Returns the caller's gateway key, and the amount it has spent. Errors: 404 for a caller that is not a gateway key. */
  async getCurrent(scope: OrgScope): Promise<CurrentGatewayKeyDto> {
    const row = await this.keys.readOf(scope, scope.principalId);
    if (!row) throw problem.notFound(NOUN, '', 'You are not calling with a gateway key.');
    const spend = await this.spend.currentMonth(row.service_account_id, row.monthly_budget_usd);
    return { ...toGatewayKeyDto(row), ...spend };
  }

  /**
   * Changes the name or the limits of a key. Errors: 400 for unknown models, 404, 403, 412, 409 for a revoked key or a name that is
   * taken, 422 for members that cannot be changed.
   */
  patch(
    scope: OrgScope,
    keyId: string,
    dto: PatchGatewayKeyDto,
    ifMatch?: string,
  ): Promise<Versioned<GatewayKeyDto>> {
    return this.changes.run(scope.orgId, async (tx) => {
      const row = await this.lock(tx, scope, keyId);
      const current = row.allow.models;
      const models = dto.models && (await this.modelIds(tx, scope, row.workspace_id, dto.models, current));
      checkIfMatch(ifMatch, etagOf(row));
      if (row.revoked_at) throw problem.conflict('The key is revoked. Create another one.');
      await this.kit.access.holdOpen(tx, scope, row.workspace_id);
      checkNotMoved(row, dto.workspace_id);
      checkImmutable(row, pick(dto, ['key_id', 'service_account_id']), ['key_id', 'service_account_id']);
      checkExpiry(row, dto.expires_at);
      const before = { ...row, models: current };
      const changed = changedColumns<KeyColumns>(before, {
        name: dto.name,
        models,
        monthly_budget_usd: dto.monthly_budget_usd,
        requests_per_minute: dto.requests_per_minute,
        tokens_per_minute: dto.tokens_per_minute,
      });
      if (!changed) return versioned(row);
      if (changed.name !== undefined) {
        await this.serviceAccounts.rename(tx, scope, row.service_account_id, ACCOUNT_PREFIX + changed.name);
      }
      const { models: allowed, ...columns } = changed;
      const limits = { ...columns, ...(allowed !== undefined && { allow: allowOf(allowed) }) };
      await this.apiKeys.change(tx, scope, keyId, limits);
      await this.write(tx, scope, row, pick(changed, changed.name === undefined ? [] : ['name']));
      await this.record(tx, scope, row, 'update', auditedChanges<KeyColumns>(before, changed, AUDITED));
      return versioned(await this.reread(tx, scope, keyId));
    });
  }

  /** Revokes a key, and archives its service account. Idempotent. Errors: 404, 403. */
  revoke(scope: OrgScope, keyId: string): Promise<GatewayKeyDto> {
    return this.changes.run(scope.orgId, async (tx) => {
      const row = await this.lock(tx, scope, keyId);
      await this.apiKeys.revokeWithin(tx, scope, row.service_account_id, keyId);
      await this.serviceAccounts.retire(tx, scope, row.service_account_id);
      if (row.revoked_at) return toGatewayKeyDto(row);
      await this.write(tx, scope, row, {});
      await this.record(tx, scope, row, 'revoke', []);
      return toGatewayKeyDto(await this.reread(tx, scope, keyId));
    });
  }

  /** Deletes a revoked key, with its service account and what it has spent. Errors: 404, 403, 412, 409 for a key that is not revoked. */
  delete(scope: OrgScope, keyId: string, ifMatch?: string): Promise<void> {
    return this.changes.run(scope.orgId, async (tx) => {
      const row = await this.lock(tx, scope, keyId);
      checkIfMatch(ifMatch, etagOf(row));
      if (!row.revoked_at) throw problem.conflict('The key is not revoked. Revoke it before you delete it.');
      await this.spend.delete(tx, row.service_account_id);
      // the key and its API key go with the account
      await this.serviceAccounts.deleteWithin(tx, scope, row.service_account_id);
      await this.record(tx, scope, row, 'delete', []);
      tx.afterCommit(() => this.limits.invalidate(row.service_account_id));
    });
  }

  /** Locks a key for a change. Errors: 404, 403. */
  private async lock(tx: Tx, scope: OrgScope, keyId: string): Promise<GatewayKeyRow> {
    await this.keys.lock(tx, scope, keyId, 'update');
    return this.kit.access.admit(scope, await this.keys.read(scope, keyId, tx), NOUN, keyId, ['admin']);
  }

  private async write(
    tx: Tx,
    scope: OrgScope,
    row: GatewayKeyEntity,
    changed: Partial<GatewayKeyEntity>,
  ): Promise<void> {
    const columns = { ...changed, generation: row.generation + 1, updated_at: new Date() };
    await this.keys.update(tx, scope, row.key_id, columns);
    tx.afterCommit(() => this.limits.invalidate(row.service_account_id));
  }

  private async reread(tx: Tx, scope: OrgScope, keyId: string): Promise<GatewayKeyRow> {
    return (await this.keys.read(scope, keyId, tx))!;
  }

  /**
   * Returns the sorted ids of models, or null for all models. Errors: 400 for models that are not live in the workspace.
   *
   * @param current the current models of the key, which may stay even if they are archived
   */
  private async modelIds(
    tx: Tx,
    scope: OrgScope,
    workspaceId: string,
    models: readonly ModelReference[] | null,
    current: readonly string[] | null = null,
  ): Promise<string[] | null> {
    if (models === null) return null;
    const references = models.map(referenceOf);
    const pointerOf = (index: number): string => `/models/${index}`;
    const named = { kind: 'models', references, pointerOf } as const;
    return this.allows.idsOf(tx, scope, [workspaceId], named, current ?? []);
  }

  private record(
    tx: Tx,
    scope: OrgScope,
    row: GatewayKeyEntity,
    action: AuditAction,
    changes: readonly AuditChange[],
  ): Promise<void> {
    const { key_id: id, workspace_id: workspaceId } = row;
    return this.kit.audit.record(tx, scope, { action, type: 'gateway_key', id, workspaceId, changes });
  }
}

/** The columns of a key that a patch can change. `models` are ids. */
type KeyColumns = KeyLimits & { name: string; models: readonly string[] | null };

/** Returns what a gateway key allows: to call models, and nothing else. */
const allowOf = (models: readonly string[] | null): Allow => ({
  areas: ['models'],
  models,
  apis: null,
  tools: null,
  agent_id: null,
});

/** Returns the ETag. It includes the revocation, because revoking the API key directly does not change the row. */
const etagOf = ({ generation, revoked_at }: GatewayKeyRow): string =>
  revoked_at ? `${generation}-revoked` : String(generation);

const versioned = (row: GatewayKeyRow): Versioned<GatewayKeyDto> =>
  new Versioned(toGatewayKeyDto(row), etagOf(row));

/** Throws 422 if a patch changes the expiry. */
function checkExpiry({ expires_at }: GatewayKeyRow, text: string | null | undefined): void {
  if (text === undefined) return;
  const time = text === null ? null : parseTime(text);
  if (time?.getTime() !== expires_at?.getTime()) throw problem.immutableField('/expires_at');
}
