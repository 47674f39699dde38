import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { defineJob, JobQueue } from '#platform/jobs';
import { toRawJson } from '#platform/json';
import type { RowPage } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import { SecretKeys } from '#platform/secrets';
import { AuditLog } from '../audit-log/audit-log.repository';
import type { ErasureEntity, ErasureSubject } from './erasure.entity';
import { type ErasureFilters, ErasureRepository } from './erasure.repository';

export const ERASURE = defineJob<{ erasure_id: string }>({ name: 'erasure', subject: 'erasure_id' });

/** What to erase. */
export interface ErasureRequest {
  subject: ErasureSubject;
  /** The id of the subject. For `traces`, any text that differs between requests. */
  id: string;
  /** Null for all workspaces of the organization. */
  workspaceId: string | null;
  /** For `traces`, see `ErasureRun`. */
  filters?: object;
  /** For `traces`: also those in use. */
  isForced?: boolean;
  isDryRun?: boolean;
}

/** The stored form of a request, until the erasure has succeeded. */
export interface ErasureTarget {
  id: string;
  filters?: object;
  isForced?: boolean;
}

/** Requests erasures, which a worker runs, and reads their receipts. */
@Injectable()
export class Erasures {
  constructor(
    private readonly database: Database,
    private readonly erasures: ErasureRepository,
    private readonly audit: AuditLog,
    private readonly jobs: JobQueue,
    private readonly keys: SecretKeys,
  ) {}

  /**
   * Requests an erasure in the caller's transaction. Its row holds a keyed hash of the subject's id; the id itself is stored
   * only until the erasure has succeeded. Throws 409 naming the erasure of the same subject that has not ended, and 429 if
   * too many of the organization have not ended.
   */
  async request(tx: Tx, scope: OrgScope, request: ErasureRequest): Promise<ErasureEntity> {
    const { subject, id, workspaceId, filters, isForced, isDryRun = false } = request;
    if (subject !== 'org' && (await this.erasures.countOpen(tx, scope, OPEN_MAX)) >= OPEN_MAX) {
      const detail = `${OPEN_MAX} erasures of your organization have not ended. Try again when some have succeeded.`;
      throw problem.rateLimited(detail, RETRY_AFTER_SECONDS);
    }
    const now = new Date();
    const row: ErasureEntity = {
      erasure_id: newId('era'),
      org_id: scope.orgId,
      workspace_id: workspaceId,
      subject_kind: subject,
      subject_hash: this.hashOf(scope, id),
      target: toRawJson({ id, filters, isForced } satisfies ErasureTarget),
      dry_run: isDryRun,
      erasure_status: 'queued',
      counts: {},
      progress: null,
      last_error: null,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
      started_at: null,
      finished_at: null,
    };
    if (!(await this.erasures.insert(tx, row))) {
      const open = await this.erasures.findOpen(tx, row);
      throw problem.conflict(
        `The ${open === null ? 'erasure' : `erasure ${open}`} of the same subject has not ended. Wait until it has succeeded.`,
      );
    }
    const { erasure_id } = row;
    if (!isDryRun) {
      const entry = {
        action: 'create',
        type: 'erasure',
        id: erasure_id,
        workspaceId: row.workspace_id,
      } as const;
      await this.audit.record(tx, scope, { ...entry, changes: [{ member: 'subject_kind', after: subject }] });
    }
    await this.jobs.enqueue(tx, ERASURE, [{ erasure_id }]);
    return row;
  }

  /** Throws 409 if an erasure of a resource has not ended. */
  async checkNotErasing(
    tx: Tx,
    scope: OrgScope,
    subject: ErasureSubject,
    workspaceId: string | null,
    id: string,
  ) {
    const open = await this.erasures.findOpen(tx, {
      subject_kind: subject,
      subject_hash: this.hashOf(scope, id),
      workspace_id: workspaceId,
    });
    if (open)
      throw problem.conflict(`The erasure ${open} is deleting the ${subject}. It cannot be restored.`);
  }

  /** Returns one erasure. Throws 404 for one of a workspace that the caller does not administer. */
  async get(scope: OrgScope, id: string): Promise<ErasureEntity> {
    const row = orNotFound(await this.erasures.find(scope, id), 'erasure', id);
    const administered = scope.workspacesWith('admin');
    if (administered && !(row.workspace_id && administered.has(row.workspace_id))) {
      throw problem.notFound('erasure', id);
    }
    return row;
  }

  /** Returns the erasure of an organization, for platform principals. Throws 404. */
  async getOfOrganization(id: string): Promise<ErasureEntity> {
    return orNotFound(await this.erasures.findOfOrganization(id), 'erasure', id);
  }

  /** @param subjectId finds the erasures of a subject */
  list(scope: OrgScope, query: ErasureFilters, subjectId?: string): Promise<RowPage<ErasureEntity>> {
    return this.erasures.list(
      scope,
      query,
      subjectId === undefined ? undefined : this.hashOf(scope, subjectId),
    );
  }

  /** Enqueues the erasures that no worker runs: their job has failed too often, or was lost. */
  async enqueueWaiting(): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.jobs.enqueue(tx, ERASURE, await this.erasures.findWaiting(tx, WAITING_MAX));
    });
  }

  private hashOf({ orgId }: OrgScope, id: string): string {
    return this.keys.mac('erasure subject', JSON.stringify([orgId, id])).toString('hex');
  }
}

/** Number of erasures of an organization that have not ended. */
const OPEN_MAX = 1_000;
const RETRY_AFTER_SECONDS = 10;

/** Number of waiting erasures that one run of the periodic task enqueues. */
const WAITING_MAX = 100;
