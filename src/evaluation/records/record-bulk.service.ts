import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkValues } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import { DatasetSchemas } from '../datasets/dataset-schemas';
import { DatasetService } from '../datasets/dataset.service';
import { type BulkItem, checkItem, failedItem, repeatedItem, withinItems } from '../shared/bulk';
import { checkWorkspaceOfCreate } from '../shared/workspace-body';
import type { BulkRecordItemDto, BulkRecordsDto } from './record.dto';
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
   * of each, in the order sent. Two items with one `external_id`: the first wins, the second is 409.
   */
  async create(scope: Scope, datasetId: string, dto: BulkRecordsDto): Promise<BulkRecordItemDto[]> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    return this.database.transaction(async (tx) => {
      const dataset = await this.datasets.lockLive(tx, scope, datasetId, 'update');
      checkValues(dto);
      const contents = dto.items.map((item, index) => {
        const checked = checkItem(() => {
          const content = itemContent(item);
          this.schemas.checkRecord(dataset, content);
          return content;
        });
        return checked instanceof Problem ? withinItems(checked, index) : checked;
      });
      const present = await this.presentOnes(tx, scope, datasetId, contents);
      const plans = planOf(contents, present, dto.on_conflict ?? 'error');
      const written = await this.write(tx, scope, datasetId, plans);
      const known = new Map([...present.values()].map((row) => [row.dataset_record_id, row]));
      return plans.map((plan, index) => answerOf(plan, index, written, known));
    });
  }

  private async presentOnes(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    contents: (RecordContent | Problem)[],
  ): Promise<Map<string, RecordEntity>> {
    const ids = contents.flatMap((one) =>
      one instanceof Problem || one.external_id === null ? [] : [one.external_id],
    );
    if (ids.length === 0) return new Map();
    const rows = await this.records.findByExternalIds(tx, scope, datasetId, ids);
    return new Map(rows.map((row) => [row.external_id!, row]));
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

function planOf(
  contents: (RecordContent | Problem)[],
  present: Map<string, RecordEntity>,
  onConflict: string,
): Plan[] {
  const firstOf = new Map<string, number>();
  return contents.map((content, index): Plan => {
    if (content instanceof Problem) return { kind: 'fail', error: content };
    const externalId = content.external_id;
    if (externalId === null) return { kind: 'insert', row: newRow(content) };
    const first = firstOf.get(externalId);
    if (first !== undefined) return { kind: 'fail', error: repeatedItem(index, 'external_id', first) };
    firstOf.set(externalId, index);
    const found = present.get(externalId);
    if (!found) return { kind: 'insert', row: newRow(content) };
    if (onConflict === 'skip' || (onConflict === 'update' && sameContent(found, content))) {
      return { kind: 'keep', id: found.dataset_record_id };
    }
    if (onConflict === 'update') return { kind: 'update', row: nextRow(found, content) };
    return {
      kind: 'fail',
      error: problem.conflict('The dataset has a live record of this external_id already.'),
    };
  });
}

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
