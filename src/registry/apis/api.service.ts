import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { FieldError } from '#platform/problem';
import { SecretBox } from '#platform/secrets';
import {
  type AnyOf,
  type AuditAction,
  auditedChanges,
  baseUrlFaults,
  checkFaults,
  documentOf,
  NamedResources,
  headersFaults,
  headersFaultsTogether,
  markDrifted,
  newOwned,
  OWNED_READERS,
  OwnedService,
  parsedHeaders,
  patchedHeaders,
  type ResourceKind,
  ResourceKit,
  storedBaseUrl,
  withoutAuth,
} from '../../resources';
import { API_AUTH, API_SECRET } from './api-auth';
import type { ApiAuthDto } from './api-auth.dto';
import { ApiDirectory } from './api-directory';
import { storedMethods } from './api-target';
import {
  type ApiDto,
  type ApiFieldsDto,
  type ApiVersionDto,
  type CreateApiDto,
  type PatchApiDto,
  toApiDto,
  toApiVersionDto,
} from './api.dto';
import {
  type ApiEntity,
  type ApiVersionRow,
  AUDITED_FIELDS,
  TIMEOUT_DEFAULT_MS,
  VERSIONED_FIELDS,
} from './api.entity';
import { ApiRepository } from './api.repository';

/** Describes APIs to the resource kit. */
export const API: ResourceKind<ApiEntity, ApiDto> = {
  noun: 'API',
  type: 'api',
  readers: OWNED_READERS,
  id: 'api_id',
  generation: 'generation',
  immutable: ['api_id'],
  // For `auth`, they show only that it changed.
  auditedChanges: (row, changed) => withoutAuth(auditedChanges(row, changed, AUDITED_FIELDS)),
  createdFields: ['name', 'base_url'],
  versions: { ordinal: 'version_ordinal', fields: VERSIONED_FIELDS },
  unique: { constraint: 'apis_name', field: 'name' },
  // A declaration contains no secret, so a new secret does not make an API drift.
  derived: (row, changed) =>
    Object.keys(changed).every((column) => column === 'auth_secret') ? {} : markDrifted(row, changed),
  search: { type: 'api', document: (row) => documentOf('api', row.api_id, row, row.base_url) },
  toView: toApiDto,
};

/** Manages the HTTP APIs that agents call through the service. Only admins register and change them. */
@Injectable()
export class ApiService extends OwnedService<ApiEntity, ApiDto, ApiVersionRow, ApiVersionDto> {
  constructor(
    kit: ResourceKit,
    apis: ApiRepository,
    private readonly box: SecretBox,
    private readonly directory: ApiDirectory,
  ) {
    super(kit, apis, API, toApiVersionDto);
    kit.allowed.add('apis', new NamedResources('apis', 'api_id'));
  }

  /** Registers an API. Errors: 400 for an invalid URL, header or secret or an unknown workspace; 403; 409 for a name that is taken. */
  create(scope: OrgScope, dto: CreateApiDto): Promise<Versioned<ApiDto>> {
    const { auth } = dto;
    checkFaults([
      ...contentFaults(dto, ''),
      ...(auth ? API_AUTH.newFaults(auth, '/auth') : []),
      ...headersFaultsTogether(dto.headers ?? {}, secretHeaderOf(auth), '/headers'),
    ]);
    return this.createIn(scope, dto.workspace_id, () => this.newRow(scope, dto), ['admin']);
  }

  /** Changes an API. Errors: 400 for invalid values or a missing secret, and the errors of every change. */
  patch(scope: OrgScope, id: string, dto: PatchApiDto, ifMatch?: string): Promise<Versioned<ApiDto>> {
    checkFaults(patchFaults(dto));
    return this.change(scope, id, dto, ifMatch, (row) => {
      const base_url = dto.base_url === undefined ? row.base_url : storedBaseUrl(dto.base_url);
      const auth = API_AUTH.patched(row, dto.auth, base_url, this.box, API_SECRET.of(row.api_id));
      const headers = patchedHeaders(row.headers, dto.headers);
      const { auth_type, auth_name } = { ...row, ...auth };
      const secretHeader = auth_type === 'header' ? auth_name : null;
      checkFaults(headersFaultsTogether(parsedHeaders(headers), secretHeader, '/headers'));
      return {
        name: dto.name,
        description: dto.description,
        base_url,
        ...auth,
        allowed_methods: dto.allowed_methods && storedMethods(dto.allowed_methods),
        timeout_ms: dto.timeout_ms,
        headers,
        allow_encoded_slash: dto.allow_encoded_slash,
        requests_per_minute: dto.requests_per_minute,
        max_in_flight: dto.max_in_flight,
        metadata: patchMetadata(row.metadata, dto.metadata),
      };
    });
  }

  /** Deletes the secret. */
  protected override onArchive(): Promise<Partial<ApiEntity>> {
    return Promise.resolve({ auth_secret: null });
  }

  protected override onDelete(tx: Tx, _scope: OrgScope, { org_id, api_id }: ApiEntity): Promise<void> {
    tx.afterCommit(() => this.directory.invalidate(org_id, api_id));
    return Promise.resolve();
  }

  protected override rolesFor(): AnyOf {
    return ['admin'];
  }

  protected override write(
    tx: Tx,
    scope: OrgScope,
    row: ApiEntity,
    patch: Partial<ApiEntity>,
    action: AuditAction,
  ): Promise<ApiEntity> {
    tx.afterCommit(() => this.directory.invalidate(row.org_id, row.api_id));
    return super.write(tx, scope, row, patch, action);
  }

  private newRow(scope: OrgScope, dto: CreateApiDto): ApiEntity {
    const apiId = newId('api');
    const auth: ApiAuthDto = dto.auth ?? { type: 'none' };
    return {
      ...newOwned(scope, dto.workspace_id),
      api_id: apiId,
      name: dto.name,
      ...contentColumns(dto),
      ...API_AUTH.columns(auth),
      auth_secret: API_AUTH.sealed(auth, this.box, API_SECRET.of(apiId)),
      declared_name: null,
    };
  }
}

/** Returns the columns of members that an app can also declare, without `auth`. */
export const contentColumns = (dto: ApiFieldsDto) => ({
  description: dto.description ?? null,
  base_url: storedBaseUrl(dto.base_url),
  allowed_methods: storedMethods(dto.allowed_methods),
  timeout_ms: dto.timeout_ms ?? TIMEOUT_DEFAULT_MS,
  headers: toRawJson(dto.headers ?? {}),
  allow_encoded_slash: dto.allow_encoded_slash ?? false,
  requests_per_minute: dto.requests_per_minute ?? null,
  max_in_flight: dto.max_in_flight ?? null,
  metadata: toRawJson(dto.metadata ?? {}),
});

/**
 * Returns the faults of members that an app can also declare, without `auth`.
 *
 * @param pointer the JSON Pointer of the body or of the declaration
 */
export function contentFaults({ base_url, headers }: ApiFieldsDto, pointer: string): FieldError[] {
  return [...baseUrlFaults(base_url, pointer), ...headersFaults(headers ?? {}, `${pointer}/headers`)];
}

/** Returns the header that carries the secret, or null. */
export const secretHeaderOf = (auth: Pick<ApiAuthDto, 'type' | 'name'> | null | undefined): string | null =>
  auth?.type === 'header' ? (auth.name ?? null) : null;

function patchFaults({ base_url, headers }: PatchApiDto): FieldError[] {
  const urlFaults = base_url === undefined ? [] : baseUrlFaults(base_url, '');
  return [...urlFaults, ...headersFaults(headers ?? {}, '/headers', { isPatch: true })];
}
