import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { type FieldError, type Problem, problem } from '#platform/problem';
import type { HeldValues } from '../../datasets/dataset-schemas';
import type { DatasetService } from '../../datasets/dataset.service';
import { Pace } from '#platform/turns';
import type { OnConflict, RecordFieldsDto } from '../record.dto';
import type { RecordChange, RecordRepository } from '../record.repository';
import { contentOf, newRow, nextRow, type RecordContent, sameContent } from '../record.service';
import type { RecordImportDto } from '../record-transfer.dto';
import { FAULTS_MAX } from './import-check';
import type { ImportLine } from './import-source';
import type { RecordImportRepository } from './record-import.repository';

/** What one statement writes at most, but for a record that is larger alone. */
const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;
/** Present records are read until they have so many bytes: a short line may be of one that has 10 MiB. */
const PRESENT_BYTES = 8 * 1024 * 1024;

/** One import, within its transaction. */
export interface ImportRun {
  tx: Tx;
  scope: Scope;
  datasetId: string;
  onConflict: OnConflict;
  /** Live records of the dataset, by their external id: how many bytes each makes. */
  present: ReadonlyMap<string, number>;
  /** Records that are new. */
  toCreate: number;
  /** What of a line contradicts the dataset's schemas, unless it is as the record was `before`. */
  faultsOf(line: ImportLine, content: RecordContent, before?: HeldValues): FieldError[];
}

interface Read {
  line: ImportLine;
  content: RecordContent;
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
  private readonly faults: { line: number; fault: FieldError }[] = [];
  private readonly pace = new Pace();

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

  /** Writes what was added and is not written yet. Error: 400 with what contradicts the schemas, and its lines. */
  async finish(): Promise<void> {
    await this.write();
    if (this.faults.length > 0) throw this.refused();
  }

  private async write(): Promise<void> {
    const { lines } = this;
    this.lines = [];
    this.bytes = 0;
    const all = lines.map((line): Read => ({ line, content: contentOf(line.value as RecordFieldsDto) }));
    const isPresent = ({ content: { external_id: id } }: Read): boolean =>
      id !== null && this.run.present.has(id);
    await this.create(all.filter((read) => !isPresent(read)));
    const others = all.filter(isPresent);
    if (this.run.onConflict === 'update') {
      for (const some of this.readAtOnce(others)) await this.update(some);
    } else this.counts.skipped_count += others.length;
  }

  /** Lines whose records are read together. */
  private *readAtOnce(reads: Read[]): Generator<Read[]> {
    let some: Read[] = [];
    let bytes = 0;
    for (const read of reads) {
      some.push(read);
      bytes += this.run.present.get(read.content.external_id!)!;
      if (bytes < PRESENT_BYTES) continue;
      yield some;
      some = [];
      bytes = 0;
    }
    if (some.length > 0) yield some;
  }

  private async create(reads: Read[]): Promise<void> {
    const contents: RecordContent[] = [];
    for (const read of reads) if (await this.holds(read)) contents.push(read.content);
    if (contents.length === 0) return;
    const { tx, scope } = this.run;
    await this.imports.insert(tx, scope, await this.changeOf(), contents.map(newRow));
    this.counts.created_count += contents.length;
  }

  private async update(reads: Read[]): Promise<void> {
    const { tx, scope, datasetId } = this.run;
    const ids = reads.map(({ content }) => content.external_id!);
    const rows = await this.records.findByExternalIds(tx, scope, datasetId, ids);
    const rowOf = new Map(rows.map((row) => [row.external_id, row]));
    const changed: ReturnType<typeof nextRow>[] = [];
    for (const read of reads) {
      const row = rowOf.get(read.content.external_id)!;
      if (sameContent(row, read.content) || !(await this.holds(read, row))) continue;
      changed.push(nextRow(row, read.content));
    }
    this.counts.unchanged_count += reads.length - changed.length;
    if (changed.length === 0) return;
    await this.imports.update(tx, scope, await this.changeOf(), changed);
    this.counts.updated_count += changed.length;
  }

  /**
   * Whether what is to be written meets the schemas; if not, nothing will be. Error: 400 as soon as no more faults are
   * told of, so that others do not wait for the dataset while the rest is looked through in vain.
   */
  private async holds({ line, content }: Read, before?: HeldValues): Promise<boolean> {
    if (this.pace.isDue()) await this.pace.rest();
    const faults = this.run.faultsOf(line, content, before);
    if (faults.length === 0) return true;
    this.faults.push(...faults.map((fault) => ({ line: line.line, fault })));
    if (this.faults.length >= FAULTS_MAX) throw this.refused();
    return false;
  }

  /** Of a batch, lines that are new were looked at before those of present records; they are told as they came. */
  private refused(): Problem {
    const inOrder = this.faults.sort((one, other) => one.line - other.line).slice(0, FAULTS_MAX);
    return problem.invalidFields(inOrder.map(({ fault }) => fault));
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
