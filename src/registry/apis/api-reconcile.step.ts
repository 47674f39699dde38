import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { storedJson } from '#platform/json';
import type { FieldError } from '#platform/problem';
import {
  type AnyOf,
  type Declared,
  newOwned,
  OwnedReconcileStep,
  type OwningApp,
  type ReconcileDraft,
  ReconcileSteps,
  ResourceKit,
  sha256OrNull,
} from '../../resources';
import { API_AUTH } from './api-auth';
import { ApiDirectory } from './api-directory';
import { ApiSpecDto, type DeclaredApi, readDeclared, specFaults } from './api-spec';
import { type ApiEntity, CALL_FIELDS } from './api.entity';
import { ApiRepository, type ComparedApi } from './api.repository';
import { API } from './api.service';

/** Reconciles the APIs that an app declares. APIs can be renamed directly, so each is matched by its declared name. */
@Injectable()
export class ApiReconcileStep extends OwnedReconcileStep<ApiEntity, DeclaredApi, ComparedApi> {
  /** The role to register an API is also needed to declare one, because the schedule applies declarations on its own. */
  override readonly declarers: AnyOf = ['admin'];
  readonly specType = ApiSpecDto;

  constructor(
    steps: ReconcileSteps,
    kit: ResourceKit,
    apis: ApiRepository,
    private readonly directory: ApiDirectory,
  ) {
    super(steps, kit, apis, API);
  }

  faultsIn(_name: string, spec: Record<string, unknown>, pointer: string): FieldError[] {
    return specFaults(spec, pointer);
  }

  protected read(_tx: Tx, _scope: Scope, declared: readonly Declared[]) {
    return Promise.resolve({ contents: declared.map(readDeclared), faults: [] });
  }

  protected isDifferent(row: ComparedApi, content: DeclaredApi): boolean {
    return (
      ['name' as const, ...CALL_FIELDS].some((member) => !isDeepStrictEqual(row[member], content[member])) ||
      row.description_sha256 !== sha256OrNull(content.description) ||
      row.headers_sha256 !== sha256OrNull(storedJson(content.headers.text)) ||
      row.metadata_sha256 !== sha256OrNull(storedJson(content.metadata.text))
    );
  }

  protected newRow(scope: Scope, app: OwningApp, name: string, content: DeclaredApi): ApiEntity {
    return {
      ...newOwned(scope, scope.workspaceId, app),
      api_id: newId('api'),
      declared_name: name,
      ...content,
      auth_secret: null,
    };
  }

  /** Deletes the secret if its target changes, so that a declaration cannot send it elsewhere. */
  protected columnsOf(row: ApiEntity, content: DeclaredApi): Partial<ApiEntity> {
    return { ...content, ...(API_AUTH.changedTarget(row, content) !== null && { auth_secret: null }) };
  }

  protected override write(
    tx: Tx,
    scope: Scope,
    drafts: readonly ReconcileDraft<ApiEntity, DeclaredApi>[],
  ): Promise<void> {
    const changed = drafts.filter(({ before }) => before).map(({ row }) => row.api_id);
    this.invalidateAfter(tx, scope, changed);
    return super.write(tx, scope, drafts);
  }

  protected override archive(tx: Tx, scope: Scope, ids: readonly string[], at: Date): Promise<void> {
    this.invalidateAfter(tx, scope, ids);
    return super.archive(tx, scope, ids, at);
  }

  private invalidateAfter(tx: Tx, scope: Scope, ids: readonly string[]): void {
    tx.afterCommit(() => ids.forEach((id) => this.directory.invalidate(scope.orgId, id)));
  }
}
