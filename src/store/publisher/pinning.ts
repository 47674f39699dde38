import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';
import { type ArtifactReference, Packagers, type PinnedArtifact } from '../../resources';

/** The maximum number of resources in a package. */
export const COMPONENTS_MAX = 1_000;

/** A resource of a package, pinned to a version. */
export interface PinnedNode {
  artifact: PinnedArtifact;
  /** In the order of `artifact.dependencies`. */
  dependencies: PinnedNode[];
  /** The first resource that depends on this one. Null for the root. */
  parent: PinnedNode | null;
}

/** Pins a resource and its dependencies. */
@Injectable()
export class Pinning {
  constructor(private readonly packagers: Packagers) {}

  /**
   * Returns the pinned resources, each after its dependencies, the root last. Locks them against archiving until the
   * transaction ends. Errors: 400 for an unknown resource or version; 409 for a dependency that is not live; 422 for
   * more than 1,000 resources.
   */
  async pin(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedNode[]> {
    const root = await this.pinOne(tx, scope, reference);
    if (!root) throw await this.unknownReference(tx, scope, reference);
    const nodes = new Map<string, PinnedNode>();
    const ordered: PinnedNode[] = [];
    const visit = async (artifact: PinnedArtifact, parent: PinnedNode | null): Promise<PinnedNode> => {
      const id = idOf(artifact);
      const visited = nodes.get(id);
      if (visited) return visited;
      if (nodes.size === COMPONENTS_MAX) throw tooMany();
      const node: PinnedNode = { artifact, dependencies: [], parent };
      nodes.set(id, node);
      for (const one of artifact.dependencies) {
        const dependency = await this.pinOne(tx, scope, one);
        if (!dependency) throw notLive(one);
        node.dependencies.push(await visit(dependency, node));
      }
      ordered.push(node);
      return node;
    };
    await visit(root, null);
    return ordered;
  }

  /**
   * Locks resources that were pinned earlier. Later changes of them do not matter, because the package contains the
   * pinned versions. Errors: 409 for a resource that is no longer live.
   */
  async check(tx: Tx, scope: Scope, nodes: readonly PinnedNode[]): Promise<void> {
    for (const { artifact } of nodes) {
      const { kind, artifact_id } = artifact;
      if (!(await this.pinOne(tx, scope, { kind, artifact_id }))) throw notLive(artifact);
    }
  }

  private pinOne(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedArtifact | null> {
    return this.packagers.of(reference.kind).pin(tx, scope, reference);
  }

  private async unknownReference(tx: Tx, scope: Scope, { kind, artifact_id, version_id }: ArtifactReference) {
    const isVersion = version_id != null && (await this.pinOne(tx, scope, { kind, artifact_id })) !== null;
    return isVersion
      ? problem.invalidField('/artifact/version_id', `is not a version of the ${nounOf(kind)}`)
      : problem.invalidField('/artifact/artifact_id', 'must be in the workspace and not archived');
  }
}

const idOf = ({ kind, artifact_id, version_id }: PinnedArtifact): string =>
  JSON.stringify([kind, artifact_id, version_id]);

const nounOf = (kind: string): string => (kind === 'mcp_server' ? 'MCP server' : kind);

const notLive = ({ kind, artifact_id }: Pick<ArtifactReference, 'kind' | 'artifact_id'>) =>
  problem.conflict(
    `The ${nounOf(kind)} ${artifact_id} is archived or does not exist. Restore it before you publish.`,
  );

const tooMany = () =>
  problem.validationFailed(`A package can have at most ${COMPONENTS_MAX} components. This package has more.`);
