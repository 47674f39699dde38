import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { DatasetService } from '../../datasets/dataset.service';
import type { OnConflict, RecordFieldsDto } from '../record.dto';
import type { RecordChange, RecordRepository } from '../record.repository';
import { contentOf, newRow, nextRow, type RecordContent, sameContent } from '../record.service';
import type { RecordImportDto } from '../record-transfer.dto';
import type { ImportLine } from './import-source';
import type { RecordImportRepository } from './record-import.repository';

/** What one statement writes at most, but for a record that is larger alone. */
const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;

/** One import, within its transaction. */
export interface ImportRun {
  tx: Tx;
  scope: Scope;
  datasetId: string;
  onConflict: OnConflict;
  /** External ids that live records of the dataset have. */
  present: ReadonlySet<string>;
  /** Records that are new. */
  toCreate: number;
}

/** Writes the records of one import, which were checked, under one revision of their dataset. */
export class ImportWriter {
  readonly counts: RecordImportDto = {
    created_count: 0,
    updated_count: 0,
    unchanged_count: 0,
    skipped_count: 0,
  };
  private change: RecordChange | undefined;
  private lines: ImportLine[] = [];
  private bytes = 0;

  constructor(
    private readonly run: ImportRun,
    private readonly datasets: DatasetService,
    private readonly records: RecordRepository,
    private readonly imports: RecordImportRepository,
  ) {}

  async add(line: ImportLine): Promise<void> {
    this.lines.push(line);
    this.bytes += line.size;
    if (this.lines.length === BATCH_RECORDS || this.bytes >= BATCH_BYTES) await this.write();
  }

  /** Writes what was added and is not written yet. */
  async write(): Promise<void> {
    const { lines } = this;
    this.lines = [];
    this.bytes = 0;
    const contents = lines.map(({ value }) => contentOf(value as RecordFieldsDto));
    const isPresent = ({ external_id: id }: RecordContent): boolean =>
      id !== null && this.run.present.has(id);
    await this.create(contents.filter((content) => !isPresent(content)));
    const others = contents.filter(isPresent);
    if (this.run.onConflict === 'update') await this.update(others);
    else this.counts.skipped_count += others.length;
  }

  private async create(contents: RecordContent[]): Promise<void> {
    if (contents.length === 0) return;
    const { tx, scope } = this.run;
    await this.imports.insert(tx, scope, await this.changeOf(), contents.map(newRow));
    this.counts.created_count += contents.length;
  }

  private async update(contents: RecordContent[]): Promise<void> {
    if (contents.length === 0) return;
    const { tx, scope, datasetId } = this.run;
    const ids = contents.map((content) => content.external_id!);
    const rows = await this.records.findByExternalIds(tx, scope, datasetId, ids);
    const rowOf = new Map(rows.map((row) => [row.external_id, row]));
    const changed = contents.flatMap((content) => {
      const row = rowOf.get(content.external_id)!;
      return sameContent(row, content) ? [] : [nextRow(row, content)];
    });
    this.counts.unchanged_count += contents.length - changed.length;
    if (changed.length === 0) return;
    await this.imports.update(tx, scope, await this.changeOf(), changed);
    this.counts.updated_count += changed.length;
  }

  /** The revision of this import: taken with the first record that is written, so that an import of nothing new is none. */
  private async changeOf(): Promise<RecordChange> {
    if (this.change) return this.change;
    const { tx, scope, datasetId, toCreate } = this.run;
    const at = new Date();
    const revision = await this.datasets.nextRevision(tx, scope, datasetId, toCreate, at);
    this.change = { datasetId, revision, at };
    return this.change;
  }
}
