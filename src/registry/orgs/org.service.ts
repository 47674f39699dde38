import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { type ErasureEntity, type ResourceKind, ResourceKit, stamps } from '../../resources';
import { AccountService } from '../accounts/account.service';
import {
  type CreateOrgDto,
  type OrgDto,
  type OrgListQueryDto,
  PatchAnyOrgDto,
  type PatchOrgDto,
  toOrgDto,
} from './org.dto';
import type { OrgEntity } from './org.entity';
import { OrgRepository } from './org.repository';
import { UserService } from '../users/user.service';

const ORG: ResourceKind<OrgEntity, OrgDto> = {
  noun: 'organization',
  type: 'org',
  id: 'org_id',
  generation: 'generation',
  immutable: ['org_id'],
  auditedFields: ['name', 'status', 'protected_labels'],
  createdFields: ['name'],
  toView: toOrgDto,
};

/** Manages organizations. The scope selects one: the caller's own, or any for a platform principal. */
@Injectable()
export class OrgService extends AccountService<OrgEntity, OrgDto> {
  constructor(
    kit: ResourceKit,
    changes: AccountChanges,
    private readonly organizations: OrgRepository,
    private readonly users: UserService,
  ) {
    super(kit, changes, organizations, ORG);
  }

  /** Creates the organization of the scope, and its first owner if the body names one. */
  create(scope: OrgScope, dto: CreateOrgDto): Promise<Versioned<OrgDto>> {
    return this.transaction(scope, async (tx) => {
      const row = await this.add(tx, scope, dto);
      if (dto.owner_user_id !== undefined) {
        await this.users.add(tx, scope, { user_id: dto.owner_user_id, roles: ['owner'] });
      }
      return this.versioned(row);
    });
  }

  add(
    tx: Tx,
    scope: OrgScope,
    { name, metadata, protected_labels }: Pick<CreateOrgDto, 'name' | 'metadata' | 'protected_labels'>,
  ): Promise<OrgEntity> {
    return this.insert(tx, scope, {
      ...stamps(scope),
      org_id: scope.orgId,
      name,
      status: 'active',
      protected_labels: distinct(protected_labels),
      metadata: toRawJson(metadata ?? {}),
      generation: 1,
    });
  }

  async list(query: OrgListQueryDto): Promise<Page<OrgDto>> {
    return this.page(await this.organizations.list(query));
  }

  patch(scope: OrgScope, dto: PatchOrgDto | PatchAnyOrgDto, ifMatch?: string): Promise<Versioned<OrgDto>> {
    return this.change(scope, scope.orgId, dto, ifMatch, async (row, tx) => {
      const status = dto instanceof PatchAnyOrgDto ? dto.status : undefined;
      if (status === 'active') await this.kit.erasures.checkNotErasing(tx, scope, 'org', null, scope.orgId);
      return {
        name: dto.name,
        protected_labels: dto.protected_labels === undefined ? undefined : distinct(dto.protected_labels),
        metadata: patchMetadata(row.metadata, dto.metadata),
        status,
      };
    });
  }

  /** Requests the erasure of the organization, and suspends it so that nobody writes to it any more. Errors: 404, 409. */
  erase(scope: OrgScope, isDryRun = false): Promise<ErasureEntity> {
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, scope.orgId, 'delete');
      if (!isDryRun) await this.write(tx, scope, row, { status: 'suspended' }, 'update');
      return this.requestErasure(tx, scope, row, 'org', isDryRun);
    });
  }
}

const distinct = (labels: readonly string[] | null | undefined): string[] => [...new Set(labels)];
