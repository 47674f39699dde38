import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { Pace } from '#platform/concurrency';
import { isChanged, type SchemaMember, type SchemaMembers } from '../datasets/dataset-schemas';
import type { DatasetService } from '../datasets/dataset.service';
import type { OnConflict, RecordFieldsDto } from '../records/record.dto';
import type { RecordChange } from '../datasets/dataset.repository';
import { contentOf, newRow, nextRow, type RecordContent, sameContent } from '../records/record-content';
import type { PresentRecord, RecordRepository } from '../records/record.repository';
import type { NewVersion, RecordWriteRepository } from '../records/record-write.repository';
import type { RecordImportDto } from './record-transfer.dto';
import { FAULTS_MAX } from './import-check';
import type { ImportLine } from './import-source';

/** Limits of one statement. A single larger record is written alone. */
const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;
/** Bytes of present records that are read at once. A short line may belong to a record of 10 MiB. */
const PRESENT_BYTES = 8 * 1024 * 1024;

/** One import, within its transaction. */
export interface ImportRun {
  tx: Tx;
  scope: Scope;
  datasetId: string;
  onConflict: OnConflict;
  /** Live records of the dataset, by their external id. */
  present: ReadonlyMap<string, PresentRecord>;
  /** Records that are new. */
  toCreate: number;
  /** The members that contradict the dataset's schemas, by line. Only changed ones are refused. */
  doubtful: ReadonlyMap<number, readonly SchemaMember[]>;
}

/** Ends an import whose lines change records to what contradicts the schemas of their dataset. */
export class SchemasContradicted extends Error {
  /** @param lines each with the members that contradict a schema */
  constructor(readonly lines: readonly { line: number; members: SchemaMembers }[]) {
    super('Records contradict the schemas of their dataset.');
  }
}

interface Read {
  line: ImportLine;
  content: RecordContent;
}

/** Writes the checked records of one import, under one revision of their dataset. */
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
  private readonly contradicting: { line: number; members: SchemaMembers }[] = [];
  private readonly pace = new Pace();

  constructor(
    private readonly run: ImportRun,
    private readonly datasets: DatasetService,
    private readonly records: RecordRepository,
    private readonly writes: RecordWriteRepository,
  ) {}

  async add(line: ImportLine): Promise<void> {
    this.lines.push(line);
    this.bytes += line.size;
    if (this.lines.length === BATCH_RECORDS || this.bytes >= BATCH_BYTES) await this.write();
  }

  /** Writes the rest of what was added. Throws `SchemasContradicted`. */
  async finish(): Promise<void> {
    await this.write();
    if (this.contradicting.length > 0) throw this.refused();
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
      bytes += this.run.present.get(read.content.external_id!)!.bytes;
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
    await this.writes.insert(tx, scope, await this.changeOf(), contents.map(newRow));
    this.counts.created_count += contents.length;
  }

  private async update(reads: Read[]): Promise<void> {
    const { tx, scope, datasetId } = this.run;
    const ids = reads.map(({ content }) => content.external_id!);
    const rows = await this.records.findByExternalIds(tx, scope, datasetId, ids);
    const rowOf = new Map(rows.map((row) => [row.external_id, row]));
    const changed: NewVersion[] = [];
    for (const read of reads) {
      const row = rowOf.get(read.content.external_id)!;
      if (sameContent(row, read.content) || !(await this.holds(read, row))) continue;
      changed.push(nextRow(row, read.content));
    }
    this.counts.unchanged_count += reads.length - changed.length;
    if (changed.length === 0) return;
    await this.writes.update(tx, scope, await this.changeOf(), changed);
    this.counts.updated_count += changed.length;
  }

  /**
   * Whether a record may be written by the schemas. Throws `SchemasContradicted` as soon as there are as many lines as
   * an answer names, so that others do not wait for the dataset while the rest is read needlessly.
   */
  private async holds({ line, content }: Read, before?: SchemaMembers): Promise<boolean> {
    if (this.pace.isDue()) await this.pace.rest();
    const faulty = this.run.doubtful.get(line.line)?.filter((member) => isChanged(member, content, before));
    if (!faulty?.length) return true;
    const members = Object.fromEntries(faulty.map((member) => [member, content[member]]));
    this.contradicting.push({ line: line.line, members });
    if (this.contradicting.length >= FAULTS_MAX) throw this.refused();
    return false;
  }

  /** Names lines in their order. A batch writes new records before present ones. */
  private refused(): SchemasContradicted {
    return new SchemasContradicted(this.contradicting.sort((one, other) => one.line - other.line));
  }

  /** Begins the change with the first record that is written, so that an import of nothing new is no change. */
  private async changeOf(): Promise<RecordChange> {
    const { tx, scope, datasetId, toCreate } = this.run;
    this.change ??= await this.datasets.beginChange(tx, scope, datasetId, toCreate);
    return this.change;
  }
}
