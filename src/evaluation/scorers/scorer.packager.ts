import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { validateBody } from '#platform/http';
import {
  type ArtifactReference,
  type InstalledArtifact,
  type InstalledCopy,
  jsonFile,
  type PackedFiles,
  type Packager,
  Packagers,
  pick,
  type PinnedArtifact,
  readJsonFile,
  type UnpackedComponent,
} from '../../resources';
import { CreateScorerDto } from './scorer.dto';
import { DESCRIPTIVE_FIELDS, type ScorerEntity } from './scorer.entity';
import { ScorerRepository } from './scorer.repository';
import { ScorerService } from './scorer.service';

const FILE = 'scorer.json';

/**
 * Packs versions of scorers, each as one JSON file with the members of a create, and installs them. Members without versions
 * are packed as they are when the version is pinned.
 */
@Injectable()
export class ScorerPackager implements Packager {
  readonly kind = 'scorer';

  constructor(
    packagers: Packagers,
    private readonly scorers: ScorerRepository,
    private readonly service: ScorerService,
  ) {
    packagers.add(this);
  }

  async pin(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedArtifact | null> {
    const row = await this.scorers.lock(tx, scope, reference.artifact_id, 'share');
    if (!row || row.archived_at) return null;
    const version = await this.scorers.findByReference(tx, scope, reference, row.scorer_version);
    return (
      version && {
        kind: this.kind,
        artifact_id: version.scorer_id,
        version_id: version.version_id,
        version_ordinal: version.scorer_version,
        name: row.name,
        acquired_from: row.acquired_from,
        dependencies: [],
        content: { ...version, ...pick(row, DESCRIPTIVE_FIELDS) },
      }
    );
  }

  files(_on: SqlExecutor, _scope: Scope, { content }: PinnedArtifact): Promise<PackedFiles> {
    const members = pick(content as ScorerEntity, [
      ...DESCRIPTIVE_FIELDS,
      'scorer_kind',
      'grain',
      'definition',
    ]);
    return Promise.resolve({ files: [jsonFile(FILE, members)] });
  }

  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return this.scorers.findCopies(tx, scope, artifactIds);
  }

  async install(tx: Tx, scope: Scope, component: UnpackedComponent): Promise<InstalledArtifact> {
    const { from, copy } = component;
    const dto = await this.read(scope, component);
    const { row, change } = await this.service.install(tx, scope, dto, from, copy?.artifact_id ?? null);
    return {
      kind: this.kind,
      artifact_id: row.scorer_id,
      version_id: row.version_id,
      version_ordinal: row.scorer_version,
      name: row.name,
      change,
    };
  }

  private async read(scope: Scope, component: UnpackedComponent): Promise<CreateScorerDto> {
    const members = (await readJsonFile(component, FILE)).parseExactly() as object;
    return validateBody(CreateScorerDto, { ...members, workspace_id: scope.workspaceId });
  }
}
