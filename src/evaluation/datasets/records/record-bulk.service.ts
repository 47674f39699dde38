import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { checkValues, validateBody } from '#platform/http';
import { type FieldError, Problem, problem } from '#platform/problem';
import { DatasetSchemas, type RecordCheck } from '../datasets/dataset-schemas';
import type { DatasetEntity } from '../datasets/dataset.entity';
import { DatasetService } from '../datasets/dataset.service';
import {
  type BulkItem,
  checkItem,
  checkWorkspaceOfCreate,
  failedItem,
  repeatedItem,
  toItemProblem,
} from '../../../resources';
import { contentOf, type RecordContent, sameContent, versionOf } from './record-content';
import {
  type BulkRecordItemDto,
  type BulkRecordsDto,
  type OnConflict,
  RecordFieldsDto,
  toRecordDto,
} from './record.dto';
import type { RecordEntity } from './record.entity';
import { type ExistingRecord, RecordRepository } from './record.repository';
import { type NewVersion, RecordWriteRepository } from './record-write.repository';
import { externalIdTaken } from './record.service';

/** Maximum size of the existing records that one request reads, in bytes. No request body can be as large. */
const EXISTING_BYTES = 16 * 1024 * 1024;

/** The outcome of one item, before it is written. */
type Plan =
  | { kind: 'insert'; row: NewVersion }
  | { kind: 'update'; row: NewVersion }
  | { kind: 'keep'; id: string }
  | { kind: 'fail'; error: Problem };

/** Records to write together. An item that already failed is represented by its problem. */
export interface RecordBatch {
  dto: { on_conflict?: OnConflict | null };
  contents: readonly (RecordContent | Problem)[];
  /** Prefixes the pointers of an item's faults, which point into the record, with the place of the item. */
  place: (fault: Problem, index: number) => Problem;
  /** Locks what the contents were made from, in the transaction that writes them. Returns the contents that are still valid. */
  lockSources?: (tx: Tx) => Promise<readonly (RecordContent | Problem)[]>;
}

/** Live records of the dataset that have an item's external id, by that id. */
interface ExistingRecords {
  read: ReadonlyMap<string, RecordEntity>;
  /** Records whose content was not read, because of `EXISTING_BYTES`. */
  unread: ReadonlyMap<string, ExistingRecord>;
}

/** The plans of all items, and the existing records that they are based on. */
interface Planned {
  plans: readonly Plan[];
  existing: ExistingRecords;
}

/** Writes records in bulk. */
@Injectable()
export class RecordBulkService {
  constructor(
    private readonly database: Database,
    private readonly datasets: DatasetService,
    private readonly schemas: DatasetSchemas,
    private readonly records: RecordRepository,
    private readonly writes: RecordWriteRepository,
  ) {}

  /** Writes 1 to 100 records that a client sent. */
  async create(
    scope: Scope,
    datasetId: string,
    dto: BulkRecordsDto,
    signal: AbortSignal,
  ): Promise<BulkRecordItemDto[]> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const contents = dto.items.map((item, index) => {
      const content = checkItem(() => contentOf(validateBody(RecordFieldsDto, item)));
      return content instanceof Problem ? toItemProblem(content, index) : content;
    });
    return this.write(scope, datasetId, { dto, contents, place: toItemProblem }, signal);
  }

  /**
   * Writes up to 100 records together. Each item succeeds or fails independently. Outcomes keep the order of the items. If
   * two items have the same `external_id`, the first wins and the second is 409. If the existing records exceed
   * `EXISTING_BYTES`, the items of the remaining records are 413. Locks the dataset only if existing records change.
   */
  write(
    scope: Scope,
    datasetId: string,
    batch: RecordBatch,
    signal: AbortSignal,
  ): Promise<BulkRecordItemDto[]> {
    return this.schemas.withCheck(scope, signal, async (check) => {
      const dataset = await this.datasets.findLive(scope, datasetId);
      checkValues(batch.dto);
      const planned = await this.plan(this.database, scope, dataset, batch, check);
      const { inserts, updates } = rowsOf(planned.plans);
      if (updates.length > 0 || batch.lockSources) return this.writeLocked(scope, datasetId, batch, check);
      const written = inserts.length > 0 ? await this.writes.append(scope, datasetId, dataset, inserts) : [];
      return written && outcomesOf(planned, written);
    });
  }

  /** Writes records and new versions of records with the dataset locked, so that no other version comes in between. */
  private writeLocked(
    scope: Scope,
    datasetId: string,
    batch: RecordBatch,
    check: RecordCheck,
  ): Promise<BulkRecordItemDto[]> {
    return this.database.transaction(async (tx) => {
      const dataset = await this.datasets.lockLive(tx, scope, datasetId, 'update');
      const contents = batch.lockSources ? await batch.lockSources(tx) : batch.contents;
      const planned = await this.plan(tx, scope, dataset, { ...batch, contents }, check);
      return outcomesOf(planned, await this.writePlans(tx, scope, datasetId, planned.plans));
    });
  }

  /** Plans all items, and ends the checks. */
  private async plan(
    on: SqlExecutor,
    scope: Scope,
    dataset: DatasetEntity,
    { dto, contents, place }: RecordBatch,
    check: RecordCheck,
  ): Promise<Planned> {
    const onConflict = dto.on_conflict ?? 'error';
    const existing = await this.findExisting(on, scope, dataset.dataset_id, contents, onConflict);
    const planOf = planner(existing, onConflict, place, (content, before) =>
      check.faultsIn(dataset, content, before),
    );
    const plans = contents.map((content, index): Plan =>
      content instanceof Problem ? { kind: 'fail', error: content } : planOf(content, index),
    );
    check.finish();
    return { plans, existing };
  }

  /**
   * Finds the existing records, and reads the content of up to `EXISTING_BYTES` of them, because each may have 4 MiB. Reads
   * no content if every one is a conflict anyway.
   */
  private async findExisting(
    on: SqlExecutor,
    scope: Scope,
    datasetId: string,
    contents: readonly (RecordContent | Problem)[],
    onConflict: OnConflict,
  ): Promise<ExistingRecords> {
    const ids = contents.flatMap((one) =>
      one instanceof Problem || one.external_id === null ? [] : [one.external_id],
    );
    const existing = ids.length === 0 ? [] : await this.records.findExisting(on, scope, datasetId, ids);
    const unread = new Map(existing.map((record) => [record.external_id, record]));
    if (onConflict === 'error') return { read: new Map(), unread };
    const fitting: string[] = [];
    let bytes = 0;
    for (const id of new Set(ids)) {
      const record = unread.get(id);
      if (!record) continue;
      if (bytes < EXISTING_BYTES) {
        fitting.push(id);
        unread.delete(id);
      }
      bytes += record.bytes;
    }
    if (fitting.length === 0) return { read: new Map(), unread };
    const rows = await this.records.findByExternalIds(on, scope, datasetId, fitting);
    return { read: new Map(rows.map((row) => [row.external_id!, row])), unread };
  }

  private async writePlans(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    plans: readonly Plan[],
  ): Promise<RecordEntity[]> {
    const { inserts, updates } = rowsOf(plans);
    if (inserts.length + updates.length === 0) return [];
    const change = await this.datasets.beginChange(tx, scope, datasetId, inserts.length);
    return [
      ...(inserts.length > 0
        ? await this.writes.insert(tx, scope, change, inserts, { isReturning: true })
        : []),
      ...(updates.length > 0
        ? await this.writes.update(tx, scope, change, updates, { isReturning: true })
        : []),
    ];
  }
}

/** Returns the rows that plans insert and update. */
const rowsOf = (plans: readonly Plan[]) => ({
  inserts: plans.flatMap((plan) => (plan.kind === 'insert' ? [plan.row] : [])),
  updates: plans.flatMap((plan) => (plan.kind === 'update' ? [plan.row] : [])),
});

/** Returns a function that plans items in the order in which they were sent. */
function planner(
  { read, unread }: ExistingRecords,
  onConflict: OnConflict,
  place: RecordBatch['place'],
  faultsOf: (content: RecordContent, before?: RecordEntity) => FieldError[],
): (content: RecordContent, index: number) => Plan {
  const firstOf = new Map<string, number>();
  return (content, index) => {
    const id = content.external_id;
    const first = id === null ? undefined : firstOf.get(id);
    const existing = id === null ? undefined : read.get(id);
    const unreadRecord = id === null ? undefined : unread.get(id);
    const isKept =
      existing && (onConflict === 'skip' || (onConflict === 'update' && sameContent(existing, content)));
    // Also checks items that fail anyway, so that all verdicts are requested at once.
    const faults = isKept ? [] : faultsOf(content, existing);
    if (first !== undefined) return { kind: 'fail', error: repeatedItem(index, 'external_id', first) };
    if (unreadRecord && onConflict !== 'error') return { kind: 'fail', error: unreadItem(index) };
    if (faults.length > 0) {
      return { kind: 'fail', error: place(problem.invalidFields(faults), index) };
    }
    if (id !== null) firstOf.set(id, index);
    if (isKept) return { kind: 'keep', id: existing.dataset_record_id };
    if (existing) return { kind: 'update', row: versionOf(content, existing) };
    if (unreadRecord) return { kind: 'fail', error: externalIdTaken(unreadRecord.dataset_record_id) };
    return { kind: 'insert', row: versionOf(content) };
  };
}

const unreadItem = (index: number): Problem =>
  new Problem(
    'payload_too_large',
    `The existing record of items/${index} does not fit into this response. Send the item in a separate request.`,
  );

/** Returns the outcomes of plans, after their rows were written. */
function outcomesOf({ plans, existing }: Planned, written: readonly RecordEntity[]): BulkRecordItemDto[] {
  const rows = [...existing.read.values(), ...written];
  const byId = new Map(rows.map((row) => [row.dataset_record_id, row]));
  return plans.map((plan, index): BulkItem & BulkRecordItemDto => {
    if (plan.kind === 'fail') return failedItem(index, plan.error);
    const row = byId.get(plan.kind === 'keep' ? plan.id : plan.row.dataset_record_id)!;
    return { index, status_code: plan.kind === 'insert' ? 201 : 200, record: toRecordDto(row) };
  });
}
