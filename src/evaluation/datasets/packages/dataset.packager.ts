import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { JsonBodies, Nested, SpooledFile, validateBody } from '#platform/http';
import { problem } from '#platform/problem';
import {
  type AcquiredFrom,
  type ArtifactReference,
  type InstalledArtifact,
  type InstalledCopy,
  jsonFile,
  ORDINAL_MAX,
  type PackageFile,
  type PackedFiles,
  type Packager,
  Packagers,
  pick,
  type PinnedArtifact,
  type UnpackedComponent,
  type UnpackedFile,
} from '../../../resources';
import { CreateDatasetDto } from '../datasets/dataset.dto';
import type { DatasetEntity } from '../datasets/dataset.entity';
import { DatasetRepository } from '../datasets/dataset.repository';
import { DatasetService } from '../datasets/dataset.service';
import { LayoutFault } from '../versions/csv/csv.columns';
import { CsvFault } from '../versions/csv/csv.scanner';
import { DatasetContent } from '../versions/dataset-reading.service';
import { CSV_MAX_BYTES, optionsOf } from '../versions/dataset-upload';
import { CsvOptionsDto } from '../versions/dataset-version.dto';
import { DatasetVersionRepository, type DatasetVersionRow } from '../versions/dataset-version.repository';
import { DatasetVersionService } from '../versions/dataset-version.service';
import { RecordInstaller } from './record.installer';
import { RecordPacker, RECORDS_MAX_BYTES } from './record.packer';

const DATASET = 'dataset.json';
const RECORDS = 'records.jsonl';
/** Has no version number in its name, because numbers differ between organizations. Sorts after `dataset.json`. */
const CSV = 'version.csv';

/** The content of `dataset.json`. */
class PackedDatasetDto extends CreateDatasetDto {
  /** How the columns of the CSV file are read. */
  @IsOptional()
  @Nested(() => CsvOptionsDto)
  csv?: CsvOptionsDto | null;
}

/** The parts of a dataset that are packed. */
interface PinnedDataset {
  dataset: DatasetEntity;
  csv: DatasetVersionRow | null;
  hasRecords: boolean;
}

/** Packs datasets with their records and newest CSV version, or one CSV version of them, and installs them. */
@Injectable()
export class DatasetPackager implements Packager {
  readonly kind = 'dataset';

  constructor(
    packagers: Packagers,
    private readonly datasets: DatasetRepository,
    private readonly service: DatasetService,
    private readonly versions: DatasetVersionRepository,
    private readonly csvs: DatasetVersionService,
    private readonly csvContent: DatasetContent,
    private readonly packer: RecordPacker,
    private readonly installer: RecordInstaller,
    private readonly bodies: JsonBodies,
  ) {
    packagers.add(this);
  }

  /**
   * Pins a dataset, or one of its CSV versions. A reference with the id or number of a CSV version pins only that file. Any
   * other reference pins the whole dataset at its current revision: `version_ordinal` is the revision, and `version_id` is
   * `<dataset_id>.<revision>`. Earlier revisions cannot be pinned, because only records keep their earlier versions.
   */
  async pin(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedArtifact | null> {
    const dataset = await this.datasets.lock(tx, scope, reference.artifact_id, 'share');
    if (!dataset || dataset.archived_at) return null;
    const { dataset_id, revision, latest_version } = dataset;
    const { version_id = null, version_ordinal = null } = reference;
    const wholeId = `${dataset_id}.${revision}`;
    if (version_id === wholeId || (version_id === null && version_ordinal === null)) {
      if (version_ordinal !== null && version_ordinal !== revision) return null;
      const csv =
        latest_version === null ? null : await this.versions.find(scope, dataset_id, latest_version, tx);
      return this.toPinned({ dataset, csv, hasRecords: true }, wholeId, revision);
    }
    const csv = await this.findCsv(tx, scope, reference);
    return csv && this.toPinned({ dataset, csv, hasRecords: false }, csv.version_id, csv.version);
  }

  /** Returns the files of a package. Errors: 422 for more records than a package can hold. */
  async files(on: SqlExecutor, scope: Scope, { content }: PinnedArtifact): Promise<PackedFiles> {
    const { dataset, csv, hasRecords } = content as PinnedDataset;
    const members = pick(dataset, [
      'name',
      'description',
      'metadata',
      'tags',
      'input_schema',
      'expected_schema',
    ]);
    const files: PackageFile[] = [
      jsonFile(DATASET, { ...members, ...(csv && { csv: optionsOfVersion(csv) }) }),
    ];
    const records =
      hasRecords && dataset.record_count > 0 ? await this.packer.pack(on, scope, dataset) : null;
    if (records) files.push(fileOf(RECORDS, records));
    if (csv) {
      const { size_bytes, sha256 } = csv;
      files.push({ path: CSV, size_bytes, sha256, content: () => this.csvContent.bytes(scope, csv) });
    }
    return { files, close: async () => records?.close() };
  }

  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return this.datasets.findCopies(tx, scope, artifactIds);
  }

  async install(
    tx: Tx,
    scope: Scope,
    { key, files, from, copy }: UnpackedComponent,
  ): Promise<InstalledArtifact> {
    const installation = new Installation(this.service, this.csvs, this.installer, this.bodies, {
      tx,
      scope,
      from,
      copyId: copy?.artifact_id ?? null,
    });
    for await (const file of files) await installation.take(file);
    const { dataset_id, change, setup } = await installation.finish(key);
    const { name, revision } = (await this.datasets.find(scope, dataset_id, tx))!;
    const version = { version_id: `${dataset_id}.${revision}`, version_ordinal: revision };
    return { kind: this.kind, artifact_id: dataset_id, ...version, name, change, ...(setup && { setup }) };
  }

  private async findCsv(
    tx: Tx,
    scope: Scope,
    reference: ArtifactReference,
  ): Promise<DatasetVersionRow | null> {
    const { artifact_id, version_id = null, version_ordinal } = reference;
    const ordinal = version_ordinal ?? null;
    if (ordinal !== null && !(ordinal >= 1 && ordinal <= ORDINAL_MAX)) return null;
    const csv =
      version_id === null
        ? await this.versions.find(scope, artifact_id, ordinal!, tx)
        : await this.versions.findById(scope, artifact_id, version_id, tx);
    return csv && (ordinal ?? csv.version) === csv.version ? csv : null;
  }

  private toPinned(content: PinnedDataset, versionId: string, ordinal: number): PinnedArtifact {
    const { dataset_id, name, acquired_from } = content.dataset;
    return {
      kind: this.kind,
      artifact_id: dataset_id,
      version_id: versionId,
      version_ordinal: ordinal,
      name,
      acquired_from,
      dependencies: [],
      content,
    };
  }
}

/** One installation of a dataset, file by file. `dataset.json` is the first file, because files are sorted. */
class Installation {
  private dataset: DatasetEntity | undefined;
  private change: InstalledArtifact['change'] = 'unchanged';
  private csv: CsvOptionsDto | null = null;
  private hasRecords = false;
  private omittedCount = 0;

  constructor(
    private readonly datasets: DatasetService,
    private readonly versions: DatasetVersionService,
    private readonly records: RecordInstaller,
    private readonly bodies: JsonBodies,
    private readonly target: { tx: Tx; scope: Scope; from: AcquiredFrom; copyId: string | null },
  ) {}

  async take(file: UnpackedFile): Promise<void> {
    const { dataset } = this;
    if (file.path === DATASET) return this.takeDataset(file);
    if (!dataset) throw unexpectedFile(file.path);
    if (file.path === RECORDS)
      return withSpooledFile(file, RECORDS_MAX_BYTES, (spool) => this.takeRecords(dataset, spool));
    if (file.path === CSV)
      return withSpooledFile(file, CSV_MAX_BYTES, (spool) => this.takeCsv(dataset, spool));
    throw unexpectedFile(file.path);
  }

  async finish(key: string): Promise<{ dataset_id: string } & Pick<InstalledArtifact, 'change' | 'setup'>> {
    const { dataset, omittedCount } = this;
    if (!dataset) throw new Error(`The component ${key} has no ${DATASET}.`);
    if (!this.hasRecords && this.change !== 'created') await this.takeRecords(dataset, null);
    return {
      dataset_id: dataset.dataset_id,
      change: this.change,
      ...(omittedCount > 0 && { setup: omitted(omittedCount) }),
    };
  }

  private async takeDataset(file: UnpackedFile): Promise<void> {
    const { tx, scope, from, copyId } = this.target;
    const { signal } = new AbortController(); // The threads have their own deadline.
    const members = await this.bodies.parse(scope, signal, await buffer(file.content), PackedDatasetDto);
    const workspace = { workspace_id: scope.workspaceId };
    const dto = validateBody(PackedDatasetDto, { ...(members as object), ...workspace });
    this.csv = dto.csv ?? null;
    const { row, change } = await this.datasets.install(tx, scope, dto, from, copyId);
    this.dataset = row;
    this.change = change;
  }

  private async takeRecords(dataset: DatasetEntity, file: SpooledFile | null): Promise<void> {
    const { tx, scope } = this.target;
    this.hasRecords = true;
    const { isChanged, omittedCount } = await this.records.install(tx, scope, dataset, file);
    this.omittedCount = omittedCount;
    this.noteChange(isChanged);
  }

  /** Installs the CSV file of a release. Errors: 422 for a file that exceeds a limit of this service. */
  private async takeCsv(dataset: DatasetEntity, file: SpooledFile): Promise<void> {
    const { tx, scope } = this.target;
    try {
      const options = optionsOf(this.csv ?? {});
      this.noteChange(await this.versions.install(tx, scope, dataset.dataset_id, file, options));
    } catch (error) {
      if (error instanceof CsvFault) {
        throw problem.validationFailed(`Line ${error.line} of ${CSV} in the release ${error.detail}.`);
      }
      if (error instanceof LayoutFault) {
        throw problem.validationFailed(
          `The options of ${CSV} in the release: ${error.pointer} ${error.detail}.`,
        );
      }
      throw error;
    }
  }

  private noteChange(isChanged: boolean): void {
    if (isChanged && this.change === 'unchanged') this.change = 'updated';
  }
}

const unexpectedFile = (path: string): Error => new Error(`The package has an unexpected file ${path}.`);

const omitted = (count: number): string =>
  `${count === 1 ? '1 record' : `${count} records`} of the release ${count === 1 ? 'is' : 'are'} not in the dataset, because your own records have the same external_id. Change the external_id of your records to get them with the next release.`;

/** Returns no mapping if columns were recognized by their names, because an installation recognizes them again. */
const optionsOfVersion = ({ case_id_column, mapping }: DatasetVersionRow): object => ({
  case_id_column,
  mapping: mapping.value_columns ? null : pick(mapping, ['expected', 'input', 'metadata', 'tags']),
});

const fileOf = (path: string, file: SpooledFile): PackageFile => ({
  path,
  size_bytes: file.size,
  sha256: file.sha256,
  content: () => file.chunks(),
});

/** Copies a file of a package to a temporary file, and runs `work` with it. */
async function withSpooledFile(
  { path, size_bytes, content }: UnpackedFile,
  maxBytes: number,
  work: (file: SpooledFile) => Promise<void>,
): Promise<void> {
  if (size_bytes > maxBytes) throw new Error(`${path} of the package is too large.`);
  const spool = await SpooledFile.create();
  try {
    for await (const chunk of content) await spool.append(chunk);
    spool.finish();
    await work(spool);
  } finally {
    await spool.close();
  }
}
