import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { toRawJson } from '#platform/json';
import {
  type ArtifactReference,
  type InstalledArtifact,
  jsonFile,
  type PackedComponent,
  OwnedPackager,
  type PackedFiles,
  Packagers,
  type PinnedArtifact,
  type PinnedRow,
  readJsonFile,
  type UnpackedComponent,
} from '../../resources';
import type { AgentContent, AgentEntity, AgentVersionRow } from './agent.entity';
import { AgentRepository } from './agent.repository';
import { AgentService } from './agent.service';

const AGENT_FILE = 'agent.json';

/** The content of `agent.json`. Its references are keys of components. */
interface PackagedAgent extends Omit<AgentContent, 'tools' | 'skills' | 'metadata' | 'card'> {
  name: string;
  tools: { server: string; tool_name: string }[];
  skills: { skill: string }[];
  metadata: object;
}

/**
 * Packs a version of an agent. Its servers and skills are separate components. A tool that its server no longer offers
 * stays in the package, as it does in the agent. The package omits `card`, because a copy runs at other addresses.
 */
@Injectable()
export class AgentPackager extends OwnedPackager<AgentEntity, AgentVersionRow> {
  constructor(
    packagers: Packagers,
    agents: AgentRepository,
    private readonly service: AgentService,
  ) {
    super(packagers, 'agent', agents);
  }

  /** A skill without a version is pinned to its newest one. */
  protected override partsOf({ version }: PinnedRow<AgentEntity, AgentVersionRow>) {
    const { required_permissions, max_step_count } = version;
    const tool_names = [...new Set(version.tools.map(({ tool_name }) => tool_name))];
    return {
      dependencies: dependenciesOf(version),
      profile: { tool_names, required_permissions, max_step_count },
      content: version,
    };
  }

  files(
    _on: SqlExecutor,
    _scope: Scope,
    { content }: PinnedArtifact,
    dependencies: readonly PackedComponent[],
  ): Promise<PackedFiles> {
    const { name, tools, skills, ...version } = content as AgentVersionRow;
    const keys = new Map(dependencies.map(({ artifact_id, key }) => [artifact_id, key]));
    const keyOf = (id: string) => keys.get(id) ?? notPacked(id);
    const agent = {
      name,
      display_name: version.display_name,
      description: version.description,
      model: version.model,
      instructions: version.instructions,
      tools: tools.map(({ server_id, tool_name }) => ({ server: keyOf(server_id), tool_name })),
      skills: skills.map(({ skill_id }) => ({ skill: keyOf(skill_id) })),
      required_permissions: version.required_permissions,
      max_step_count: version.max_step_count,
      metadata: version.metadata,
    };
    return Promise.resolve({ files: [jsonFile(AGENT_FILE, agent)] });
  }

  async install(tx: Tx, scope: Scope, component: UnpackedComponent): Promise<InstalledArtifact> {
    const stored = await readJsonFile(component, AGENT_FILE);
    const { name, tools, skills, metadata, ...content } = stored.parseExactly() as PackagedAgent;
    const { resolve } = component;
    return this.service.install(tx, scope, component, name, {
      ...content,
      tools: tools.map(({ server, tool_name }) => ({ server_id: resolve(server).artifact_id, tool_name })),
      skills: skills.map(({ skill }) => {
        const { artifact_id, version_ordinal } = resolve(skill);
        return { skill_id: artifact_id, version_ordinal };
      }),
      metadata: toRawJson(metadata),
    });
  }
}

function notPacked(id: string): never {
  throw new Error(`The dependency ${id} was not packed.`);
}

/** Returns the servers of an agent's tools, then its skills. */
const dependenciesOf = ({ tools, skills }: AgentContent): ArtifactReference[] => [
  ...[...new Set(tools.map(({ server_id }) => server_id))].map((artifact_id) => ({
    kind: 'mcp_server' as const,
    artifact_id,
  })),
  ...skills.map(({ skill_id, version_ordinal }) => ({
    kind: 'skill' as const,
    artifact_id: skill_id,
    version_ordinal,
  })),
];
