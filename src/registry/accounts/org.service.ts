import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { checkIfMatch, checkValues, patchMetadata, type Versioned } from '#platform/http';
import { toRawJson } from '#platform/json';
import { newId } from '#platform/ids';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { changesOf } from '../shared/change';
import {
  type CreateOrgDto,
  type OrgDto,
  type OrgListQueryDto,
  PatchAnyOrgDto,
  type PatchOrgDto,
  toOrgDto,
} from './org.dto';
import type { OrgEntity } from './org.entity';
import { OrganizationRepository } from './org.repository';
import { type Actor, AuditLog, changesTold, given, type PlatformActor } from '../audit/audit-log';
import { UserService } from './user.service';

/** Organizations: one's own, and, for platform principals, all of them. */
@Injectable()
export class OrgService {
  constructor(
    private readonly changes: AccountChanges,
    private readonly organizations: OrganizationRepository,
    private readonly users: UserService,
    private readonly audit: AuditLog,
  ) {}

  /** The caller's organization. */
  get(scope: OrgScope): Promise<Versioned<OrgDto>> {
    return this.getAny(scope.orgId);
  }

  /** Errors: 412 for a stale `If-Match`. */
  patch(scope: OrgScope, dto: PatchOrgDto, ifMatch?: string): Promise<Versioned<OrgDto>> {
    return this.patchAny(scope, dto, ifMatch);
  }

  /** @param by the platform principal who makes it */
  async create(by: PlatformActor, dto: CreateOrgDto): Promise<Versioned<OrgDto>> {
    const actor = { ...by, orgId: newId('org') };
    return this.changes.within(actor.orgId, async (tx) => {
      const row = await this.insert(tx, actor, dto);
      if (dto.owner_user_id !== undefined) await this.users.insertOwner(tx, actor, dto.owner_user_id);
      return versionedView(row);
    });
  }

  async insert(
    on: SqlExecutor,
    actor: Actor,
    { name, metadata }: Pick<CreateOrgDto, 'name' | 'metadata'>,
  ): Promise<OrgEntity> {
    const now = new Date();
    const row: OrgEntity = {
      org_id: actor.orgId,
      name,
      status: 'active',
      metadata: toRawJson(metadata ?? {}),
      generation: 1,
      created_at: now,
      updated_at: now,
      created_by: actor.principalId,
      archived_at: null,
    };
    await this.organizations.insert(row, on);
    await this.audit.record(on, actor, { ...audited(row), action: 'create', changes: given({ name }) });
    return row;
  }

  async list(query: OrgListQueryDto): Promise<Page<OrgDto>> {
    const { rows, page } = await this.organizations.list(query);
    return { items: rows.map(toOrgDto), page };
  }

  async getAny(orgId: string): Promise<Versioned<OrgDto>> {
    const row = await this.organizations.find(orgId);
    if (!row) throw problem.notFound('organization', orgId);
    return versionedView(row);
  }

  /** Errors: 404, 412 for a stale `If-Match`, 422 for an unknown status. */
  patchAny(actor: Actor, dto: PatchOrgDto | PatchAnyOrgDto, ifMatch?: string): Promise<Versioned<OrgDto>> {
    return this.changes.within(actor.orgId, async (tx: Tx) => {
      const row = await this.organizations.lock(tx, actor.orgId);
      if (!row) throw problem.notFound('organization', actor.orgId);
      checkIfMatch(ifMatch, row.generation);
      checkValues(dto);
      const changes = changesOf(row, {
        name: dto.name,
        metadata: dto.metadata === undefined ? undefined : patchMetadata(row.metadata, dto.metadata),
        status: dto instanceof PatchAnyOrgDto ? dto.status : undefined,
      });
      if (!changes) return versionedView(row);
      await this.organizations.update(tx, actor.orgId, changes);
      await this.audit.record(tx, actor, {
        ...audited(row),
        action: 'update',
        changes: changesTold(row, changes, ['name', 'status']),
      });
      return versionedView(Object.assign(row, changes));
    });
  }
}

const audited = (row: OrgEntity) => ({ type: 'org' as const, id: row.org_id, workspaceId: null });

const versionedView = (row: OrgEntity): Versioned<OrgDto> => ({
  view: toOrgDto(row),
  version: row.generation,
});
