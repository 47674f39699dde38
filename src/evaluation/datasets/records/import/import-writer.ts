import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { TimeSlice } from '#platform/concurrency';
import { isChanged, type SchemaMember, type SchemaMembers } from '../../datasets/dataset-schemas';
import type { DatasetService } from '../../datasets/dataset.service';
import type { OnConflict, RecordFieldsDto } from '../record.dto';
import type { RecordChange } from '../../datasets/dataset.repository';
import { contentOf, type RecordContent, sameContent, versionOf } from '../record-content';
import type { ExistingRecord, RecordRepository } from '../record.repository';
import type { NewVersion, RecordWriteRepository } from '../record-write.repository';
import type { RecordImportDto } from '../record-transfer.dto';
import { FAULTS_MAX } from './import-check';
import type { ImportLine } from './import-source';

/** Limits of one statement. A larger record is written alone. */
const BATCH_RECORDS = 500;
const BATCH_BYTES = 1024 * 1024;
/** Maximum size of existing records that are read at once, in bytes. A short line may update a record of 4 MiB. */
const EXISTING_BYTES = 8 * 1024 * 1024;

/** One import, within its transaction. */
export interface ImportRun {
  tx: Tx;
  scope: Scope;
  datasetId: string;
  onConflict: OnConflict;
  /** Live records of the dataset, by their external id. */
  existing: ReadonlyMap<string, ExistingRecord>;
  /** Number of new records. */
  toCreate: number;
  /** Whether the records come from a release of the store. */
  isAcquired?: boolean;
  /** The members that violate the dataset's schemas, by line. Only changed members are rejected. */
  undecided: ReadonlyMap<number, readonly SchemaMember[]>;
}

/** Ends an import whose changes violate the schemas of the dataset. */
export class SchemasViolated extends Error {
  /** @param lines each with the members that violate a schema */
  constructor(readonly lines: readonly { line: number; members: SchemaMembers }[]) {
    super('Records violate the schemas of their dataset.');
  }
}

/** A line and its content. */
interface ParsedLine {
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
  private readonly violating: { line: number; members: SchemaMembers }[] = [];
  private readonly slice = new TimeSlice();

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

  /** Writes the remaining lines. Throws `SchemasViolated`. */
  async finish(): Promise<void> {
    await this.write();
    if (this.violating.length > 0) throw this.violation();
  }

  private async write(): Promise<void> {
    const { lines } = this;
    this.lines = [];
    this.bytes = 0;
    const all = lines.map((line): ParsedLine => ({
      line,
      content: contentOf(line.value as RecordFieldsDto),
    }));
    const isExisting = ({ content: { external_id: id } }: ParsedLine): boolean =>
      id !== null && this.run.existing.has(id);
    await this.create(all.filter((read) => !isExisting(read)));
    const others = all.filter(isExisting);
    if (this.run.onConflict === 'update') {
      for (const some of this.groupsOf(others)) await this.update(some);
    } else this.counts.skipped_count += others.length;
  }

  /** Yields groups of lines whose existing records are read together. */
  private *groupsOf(reads: ParsedLine[]): Generator<ParsedLine[]> {
    let some: ParsedLine[] = [];
    let bytes = 0;
    for (const read of reads) {
      some.push(read);
      bytes += this.run.existing.get(read.content.external_id!)!.bytes;
      if (bytes < EXISTING_BYTES) continue;
      yield some;
      some = [];
      bytes = 0;
    }
    if (some.length > 0) yield some;
  }

  private async create(reads: ParsedLine[]): Promise<void> {
    const contents: RecordContent[] = [];
    for (const read of reads) if (await this.isAllowed(read)) contents.push(read.content);
    if (contents.length === 0) return;
    const { tx, scope } = this.run;
    await this.writes.insert(
      tx,
      scope,
      await this.startChange(),
      contents.map((content) => versionOf(content)),
    );
    this.counts.created_count += contents.length;
  }

  private async update(reads: ParsedLine[]): Promise<void> {
    const { tx, scope, datasetId } = this.run;
    const ids = reads.map(({ content }) => content.external_id!);
    const rows = await this.records.findByExternalIds(tx, scope, datasetId, ids);
    const rowOf = new Map(rows.map((row) => [row.external_id, row]));
    const changed: NewVersion[] = [];
    for (const read of reads) {
      const row = rowOf.get(read.content.external_id)!;
      if (sameContent(row, read.content) || !(await this.isAllowed(read, row))) continue;
      changed.push(versionOf(read.content, row));
    }
    this.counts.unchanged_count += reads.length - changed.length;
    if (changed.length === 0) return;
    await this.writes.update(tx, scope, await this.startChange(), changed);
    this.counts.updated_count += changed.length;
  }

  /**
   * Returns whether the schemas allow a record. Throws `SchemasViolated` once as many lines violate the schemas as a response
   * can list, so that the dataset is not locked longer than necessary.
   */
  private async isAllowed({ line, content }: ParsedLine, before?: SchemaMembers): Promise<boolean> {
    if (this.slice.isOver()) await this.slice.yield();
    const undecided = this.run.undecided.get(line.line) ?? [];
    const faulty = undecided.filter((member) => isChanged(member, content, before));
    if (faulty.length === 0) return true;
    const members = Object.fromEntries(faulty.map((member) => [member, content[member]]));
    this.violating.push({ line: line.line, members });
    if (this.violating.length >= FAULTS_MAX) throw this.violation();
    return false;
  }

  /** Returns the error. Sorts its lines, because a batch writes new records before existing ones. */
  private violation(): SchemasViolated {
    return new SchemasViolated(this.violating.sort((one, other) => one.line - other.line));
  }

  /** Begins the change at the first write, so that an import without changes does not raise the revision. */
  private async startChange(): Promise<RecordChange> {
    const { tx, scope, datasetId, toCreate, isAcquired } = this.run;
    this.change ??= { ...(await this.datasets.beginChange(tx, scope, datasetId, toCreate)), isAcquired };
    return this.change;
  }
}
