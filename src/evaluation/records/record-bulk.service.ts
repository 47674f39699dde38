import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkValues } from '#platform/http';
import { PAGE_BYTES } from '#platform/paging';
import { Problem, problem } from '#platform/problem';
import { DatasetSchemas } from '../datasets/dataset-schemas';
import { DatasetService } from '../datasets/dataset.service';
import { type BulkItem, checkItem, failedItem, repeatedItem, withinItems } from '../shared/bulk';
import { checkWorkspaceOfCreate } from '../shared/workspace-body';
import { Pace } from '#platform/turns';
import type { BulkRecordItemDto, BulkRecordsDto, OnConflict } from './record.dto';
import type { RecordEntity } from './record.entity';
import { toRecordDto } from './record.mapper';
import { RecordRepository } from './record.repository';
import { itemContent, newRow, nextRow, type RecordContent, rowsText, sameContent } from './record.service';

/** What is to become of one item, once it was found valid. */
type Plan =
  | { kind: 'insert'; row: ReturnType<typeof newRow> }
  | { kind: 'update'; row: ReturnType<typeof nextRow> }
  | { kind: 'keep'; id: string }
  | { kind: 'fail'; error: Problem };

/** Live records of the dataset that have an item's external id. */
interface PresentRecords {
  read: ReadonlyMap<string, RecordEntity>;
  /** The external ids of those that were not read. */
  unread: ReadonlySet<string>;
}

@Injectable()
export class RecordBulkService {
  constructor(
    private readonly database: Database,
    private readonly datasets: DatasetService,
    private readonly schemas: DatasetSchemas,
    private readonly records: RecordRepository,
  ) {}

  /**
   * Writes 1 to 100 records in one transaction, each item succeeding or failing by itself, and answers what became
   * of each, in the order sent. Two items with one `external_id`: the first wins, the second is 409. Where records that
   * are there already come to more than a page has room for, the items that meet the others are 413.
   */
  async create(scope: Scope, datasetId: string, dto: BulkRecordsDto): Promise<BulkRecordItemDto[]> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    return this.database.transaction(async (tx) => {
      const dataset = await this.datasets.lockLive(tx, scope, datasetId, 'update');
      checkValues(dto);
      const contents = dto.items.map((item, index) => {
        const checked = checkItem(() => itemContent(item));
        return checked instanceof Problem ? withinItems(checked, index) : checked;
      });
      const onConflict = dto.on_conflict ?? 'error';
      const present = await this.presentOnes(tx, scope, datasetId, contents, onConflict);
      const check = (content: RecordContent, before?: RecordEntity) =>
        this.schemas.checkRecord(dataset, content, before);
      const plans = await plansOf(contents, planner(present, onConflict, check));
      const written = await this.write(tx, scope, datasetId, plans);
      const known = new Map([...present.read.values()].map((row) => [row.dataset_record_id, row]));
      return plans.map((plan, index) => answerOf(plan, index, written, known));
    });
  }

  /**
   * Reads records that are there as far as a page has room for them: a hundred may have 10 MiB each. Of those that only
   * conflict none is read.
   */
  private async presentOnes(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    contents: (RecordContent | Problem)[],
    onConflict: OnConflict,
  ): Promise<PresentRecords> {
    const ids = contents.flatMap((one) =>
      one instanceof Problem || one.external_id === null ? [] : [one.external_id],
    );
    const found = ids.length === 0 ? [] : await this.records.sizesOf(tx, scope, datasetId, ids);
    const sizes = new Map(found.map(({ external_id, bytes }) => [external_id, bytes]));
    if (onConflict === 'error' || sizes.size === 0) return { read: new Map(), unread: new Set(sizes.keys()) };
    const fitting: string[] = [];
    const unread = new Set<string>();
    let bytes = 0;
    for (const id of new Set(ids)) {
      if (!sizes.has(id)) continue;
      if (bytes < PAGE_BYTES) fitting.push(id);
      else unread.add(id);
      bytes += sizes.get(id)!;
    }
    const rows = await this.records.findByExternalIds(tx, scope, datasetId, fitting);
    return { read: new Map(rows.map((row) => [row.external_id!, row])), unread };
  }

  private async write(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    plans: Plan[],
  ): Promise<Map<string, RecordEntity>> {
    const inserts = plans.flatMap((plan) => (plan.kind === 'insert' ? [plan.row] : []));
    const updates = plans.flatMap((plan) => (plan.kind === 'update' ? [plan.row] : []));
    if (inserts.length + updates.length === 0) return new Map();
    const at = new Date();
    const revision = await this.datasets.nextRevision(tx, scope, datasetId, inserts.length, at);
    const change = { datasetId, revision, at };
    const rows = [
      ...(inserts.length > 0 ? await this.records.insertMany(tx, scope, change, rowsText(inserts)) : []),
      ...(updates.length > 0 ? await this.records.updateMany(tx, scope, change, rowsText(updates)) : []),
    ];
    return new Map(rows.map((row) => [row.dataset_record_id, row]));
  }
}

/** Others have their turn between items: a schema may ask for much, and there may be a hundred of them. */
async function plansOf(
  contents: (RecordContent | Problem)[],
  planOf: (content: RecordContent, index: number) => Plan,
): Promise<Plan[]> {
  const pace = new Pace();
  const plans: Plan[] = [];
  for (const [index, content] of contents.entries()) {
    if (pace.isDue()) await pace.rest();
    plans.push(content instanceof Problem ? { kind: 'fail', error: content } : planOf(content, index));
  }
  return plans;
}

/** Plans items in the order in which they were sent. */
function planner(
  { read, unread }: PresentRecords,
  onConflict: OnConflict,
  check: (content: RecordContent, before?: RecordEntity) => void,
): (content: RecordContent, index: number) => Plan {
  const firstOf = new Map<string, number>();
  return (content, index) => {
    const id = content.external_id;
    const first = id === null ? undefined : firstOf.get(id);
    if (first !== undefined) return { kind: 'fail', error: repeatedItem(index, 'external_id', first) };
    const found = id === null ? undefined : read.get(id);
    const isUnread = id !== null && unread.has(id);
    if (isUnread && onConflict !== 'error') return { kind: 'fail', error: unreadItem(index) };
    const keeps =
      found && (onConflict === 'skip' || (onConflict === 'update' && sameContent(found, content)));
    const refused = keeps ? null : checkItem(() => check(content, found));
    if (refused instanceof Problem) return { kind: 'fail', error: withinItems(refused, index) };
    if (id !== null) firstOf.set(id, index);
    if (keeps) return { kind: 'keep', id: found.dataset_record_id };
    if (found) return { kind: 'update', row: nextRow(found, content) };
    if (!isUnread) return { kind: 'insert', row: newRow(content) };
    return {
      kind: 'fail',
      error: problem.conflict('The dataset has a live record of this external_id already.'),
    };
  };
}

const unreadItem = (index: number): Problem =>
  new Problem(
    'payload_too_large',
    `The record that items/${index} meets has no room in one answer with those before it; send it in a call of its own.`,
  );

function answerOf(
  plan: Plan,
  index: number,
  written: Map<string, RecordEntity>,
  known: Map<string, RecordEntity>,
): BulkItem & BulkRecordItemDto {
  if (plan.kind === 'fail') return failedItem(index, plan.error);
  const id = plan.kind === 'keep' ? plan.id : plan.row.dataset_record_id;
  const row = written.get(id) ?? known.get(id);
  return { index, status_code: plan.kind === 'insert' ? 201 : 200, record: toRecordDto(row!) };
}
