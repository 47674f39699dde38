import type { PinnedArtifact } from '../../resources';
import type { AgentProfileDto, ArtifactPinDto, PackageManifestDto } from '../items/store-item.dto';
import type { Action } from '../items/store-item.entity';
import { ADAPTER, ADAPTER_VERSION, FORMAT, SCHEMA_VERSION } from '../package/package-manifest';
import type { BuiltComponent } from './package-builder';

/** Returns the manifest of a package. @param components in the order of the package, the root last */
export const manifestOf = (components: readonly BuiltComponent[], actions: Action[]): PackageManifestDto => ({
  schema_version: SCHEMA_VERSION,
  adapter: ADAPTER,
  adapter_version: ADAPTER_VERSION,
  format: FORMAT,
  root: pinOf(components.at(-1)!),
  components: components.map((one) => ({ key: one.key, source: pinOf(one), parent_key: one.parent_key })),
  actions,
});

const pinOf = ({
  kind,
  artifact_id,
  version_id,
  version_ordinal,
  acquired_from,
}: PinnedArtifact): ArtifactPinDto => ({
  kind,
  artifact_id,
  version_id,
  version_ordinal,
  release_id: acquired_from?.release_id ?? null,
});

/** Returns the profile of a published agent, or null for other kinds. */
export function agentProfileOf(components: readonly BuiltComponent[]): AgentProfileDto | null {
  const { profile } = components.at(-1)!;
  if (!profile) return null;
  const skills = components.filter(({ kind }) => kind === 'skill');
  return {
    capabilities: [
      ...profile.tool_names.map((name) => ({ kind: 'tool' as const, name })),
      ...skills.map(({ name }) => ({ kind: 'skill' as const, name })),
    ],
    required_permissions: profile.required_permissions,
    dependencies: skills.map(({ artifact_id, version_ordinal, digest }) => ({
      skill_id: artifact_id,
      version_ordinal,
      source_digest: digest,
    })),
    has_pinned_skills: skills.length > 0,
    max_step_count: profile.max_step_count,
  };
}
