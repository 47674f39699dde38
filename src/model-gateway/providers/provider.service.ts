import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { type FieldError, problem } from '#platform/problem';
import { SecretBox } from '#platform/secrets';
import {
  type AnyOf,
  type AuditAction,
  baseUrlFaults,
  checkFaults,
  headersFaults,
  headersFaultsTogether,
  originOf,
  OrgResourceService,
  OWNED_READERS,
  parsedHeaders,
  patchedHeaders,
  type ResourceKind,
  ResourceKit,
  stamps,
  storedBaseUrl,
} from '../../resources';
import { ProviderChanges } from './provider-changes';
import {
  type CreateModelProviderDto,
  type ModelProviderDto,
  type ModelProviderListQueryDto,
  type PatchModelProviderDto,
  toModelProviderDto,
} from './provider.dto';
import { PROVIDER_SECRET, type ProviderEntity, type ProviderKind } from './provider.entity';
import { ProviderRepository } from './provider.repository';

const DEFAULT_BASE_URLS: Record<ProviderKind, string> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
};

const PROVIDER: ResourceKind<ProviderEntity, ModelProviderDto> = {
  noun: 'provider',
  type: 'model_provider',
  readers: OWNED_READERS,
  id: 'provider_id',
  generation: 'generation',
  immutable: ['provider_id', 'kind'],
  auditedFields: ['name', 'base_url'],
  createdFields: ['name', 'kind', 'base_url'],
  unique: { constraint: 'model_providers_name', field: 'name' },
  toView: toModelProviderDto,
};

/** The member of the body that contains the secret. */
const SECRET_MEMBER = 'api_key';

/** Manages the servers that answer model calls. Only admins register and change them. */
@Injectable()
export class ProviderService extends OrgResourceService<ProviderEntity, ModelProviderDto> {
  constructor(
    kit: ResourceKit,
    private readonly providers: ProviderRepository,
    private readonly box: SecretBox,
    private readonly changes: ProviderChanges,
  ) {
    super(kit, providers, PROVIDER);
  }

  /** Registers a provider. Errors: 400 for an invalid URL, header or key or an unknown workspace; 403; 409 for a name that is taken. */
  create(scope: OrgScope, dto: CreateModelProviderDto): Promise<Versioned<ModelProviderDto>> {
    checkFaults([
      ...urlFaults(dto.base_url),
      ...headersFaults(dto.headers ?? {}, '/headers', { secretMember: SECRET_MEMBER }),
      ...headersFaultsTogether(dto.headers ?? {}, null, '/headers'),
    ]);
    return this.createIn(scope, dto.workspace_id, () => this.newRow(scope, dto), ['admin']);
  }

  async list(scope: OrgScope, query: ModelProviderListQueryDto): Promise<Page<ModelProviderDto>> {
    return this.page(await this.providers.list(scope, query));
  }

  /** Changes a provider. Errors: 400 for invalid values or a missing key, and the errors of `change`. */
  patch(
    scope: OrgScope,
    id: string,
    dto: PatchModelProviderDto,
    ifMatch?: string,
  ): Promise<Versioned<ModelProviderDto>> {
    checkFaults([
      ...urlFaults(dto.base_url),
      ...headersFaults(dto.headers ?? {}, '/headers', { isPatch: true, secretMember: SECRET_MEMBER }),
    ]);
    return this.change(scope, id, dto, ifMatch, (row) => {
      const base_url = dto.base_url === undefined ? row.base_url : versionedBaseUrl(dto.base_url);
      const headers = patchedHeaders(row.headers, dto.headers);
      checkFaults(headersFaultsTogether(parsedHeaders(headers), null, '/headers'));
      return {
        name: dto.name,
        description: dto.description,
        base_url,
        api_key: this.patchedKey(row, dto.api_key, base_url),
        headers,
        metadata: patchMetadata(row.metadata, dto.metadata),
      };
    });
  }

  /** Deletes the key. */
  protected override onArchive(): Promise<Partial<ProviderEntity>> {
    return Promise.resolve({ api_key: null });
  }

  protected override onDelete(tx: Tx, scope: OrgScope): Promise<void> {
    tx.afterCommit(() => this.changes.announce(scope.orgId));
    return Promise.resolve();
  }

  protected override rolesFor(): AnyOf {
    return ['admin'];
  }

  protected override write(
    tx: Tx,
    scope: OrgScope,
    row: ProviderEntity,
    patch: Partial<ProviderEntity>,
    action: AuditAction,
  ): Promise<ProviderEntity> {
    tx.afterCommit(() => this.changes.announce(scope.orgId));
    return super.write(tx, scope, row, patch, action);
  }

  private newRow(scope: OrgScope, dto: CreateModelProviderDto): ProviderEntity {
    const providerId = newId('prov');
    return {
      ...stamps(scope),
      provider_id: providerId,
      org_id: scope.orgId,
      workspace_id: dto.workspace_id,
      name: dto.name,
      description: dto.description ?? null,
      kind: dto.kind,
      base_url: dto.base_url == null ? DEFAULT_BASE_URLS[dto.kind] : versionedBaseUrl(dto.base_url),
      api_key: dto.api_key == null ? null : this.box.seal(dto.api_key, PROVIDER_SECRET.of(providerId)),
      headers: toRawJson(dto.headers ?? {}),
      metadata: toRawJson(dto.metadata ?? {}),
      generation: 1,
    };
  }

  /**
   * Returns the column `api_key` after a patch. Errors: 400 if the current key would be sent to a new origin.
   */
  private patchedKey(
    row: ProviderEntity,
    newKey: string | null | undefined,
    baseUrl: string,
  ): string | null | undefined {
    if (newKey === null) return null;
    const use = PROVIDER_SECRET.of(row.provider_id);
    if (newKey !== undefined) {
      return this.box.isSame(row.api_key, newKey, use) ? undefined : this.box.seal(newKey, use);
    }
    if (row.api_key !== null && originOf(baseUrl) !== originOf(row.base_url)) {
      const detail =
        "`api_key` is required because the URL's origin changed. Keys are never sent to a new origin. Send null to remove the key";
      throw problem.invalidFields([{ pointer: '/api_key', detail }]);
    }
    return undefined;
  }
}

/** Returns the stored form of a valid base URL: without trailing slashes, and with `/v1` if it has no path. */
function versionedBaseUrl(text: string): string {
  const url = storedBaseUrl(text);
  return /^https?:\/\/[^/]+$/i.test(url) ? `${url}/v1` : url;
}

const urlFaults = (url: string | null | undefined): FieldError[] =>
  url == null ? [] : baseUrlFaults(url, '', SECRET_MEMBER);
