/**
 * What a scenario of the conformance suite needs and this service does not have, with the checks that fail as a result.
 */
export interface Unmet {
  needs: string;
  checks: readonly string[];
}

const FIXTURE_TOOL = (name: string, ...checks: string[]): Unmet => ({
  needs: `fixture tool \`${name}\``,
  checks,
});
const FIXTURE = (what: string, ...checks: string[]): Unmet => ({ needs: `fixture ${what}`, checks });
const METHOD = (what: string, ...checks: string[]): Unmet => ({ needs: `optional method ${what}`, checks });

/**
 * The scenarios that fail, by name. Most of them call tools, resources and prompts of the suite's own reference server. All
 * other scenarios, and all other checks of these, must pass. docs/reference/mcp.md has the same list.
 */
export const UNMET: Readonly<Record<string, Unmet>> = {
  'tools-call-simple-text': FIXTURE_TOOL('test_simple_text', 'tools-call-simple-text'),
  'tools-call-image': FIXTURE_TOOL('test_image_content', 'tools-call-image'),
  'tools-call-audio': FIXTURE_TOOL('test_audio_content', 'tools-call-audio'),
  'tools-call-embedded-resource': FIXTURE_TOOL('test_embedded_resource', 'tools-call-embedded-resource'),
  'tools-call-mixed-content': FIXTURE_TOOL('test_multiple_content_types', 'tools-call-mixed-content'),
  'tools-call-error': FIXTURE_TOOL('test_error_handling', 'tools-call-error'),
  'tools-call-with-progress': FIXTURE_TOOL('test_tool_with_progress', 'tools-call-with-progress'),
  'tools-call-with-logging': FIXTURE_TOOL('test_tool_with_logging', 'tools-call-with-logging'),
  'tools-call-sampling': FIXTURE_TOOL('test_sampling', 'tools-call-sampling'),
  'tools-call-elicitation': FIXTURE_TOOL('test_elicitation', 'tools-call-elicitation'),
  'elicitation-sep1034-defaults': FIXTURE_TOOL(
    'test_elicitation_sep1034_defaults',
    'elicitation-sep1034-general',
  ),
  'elicitation-sep1330-enums': FIXTURE_TOOL('test_elicitation_sep1330_enums', 'elicitation-sep1330-general'),
  'json-schema-2020-12': FIXTURE_TOOL('json_schema_2020_12_tool', 'json-schema-2020-12-tool-found'),
  'http-custom-header-server-validation': FIXTURE(
    'tool with `x-mcp-header` in its schema',
    'sep-2243-server-no-xmcp-tool',
    'sep-2243-server-decode-base64',
    'sep-2243-server-validate-param-match',
    'sep-2243-server-reject-invalid-param-chars',
    'sep-2243-server-reject-param-mismatch',
  ),
  'server-stateless': FIXTURE(
    'tools `test_missing_capability`, `test_streaming_elicitation` and `test_logging_tool`',
    'sep-2575-server-rejects-undeclared-capability',
    'sep-2575-missing-capability-http-400',
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-server-no-log-without-loglevel',
  ),
  'input-required-result-basic-elicitation': FIXTURE_TOOL(
    'test_input_required_result_elicitation',
    'sep-2322-elicitation-incomplete',
  ),
  'input-required-result-basic-sampling': FIXTURE_TOOL(
    'test_input_required_result_sampling',
    'sep-2322-sampling-incomplete',
  ),
  'input-required-result-basic-list-roots': FIXTURE_TOOL(
    'test_input_required_result_list_roots',
    'sep-2322-list-roots-incomplete',
  ),
  'input-required-result-request-state': FIXTURE_TOOL(
    'test_input_required_result_request_state',
    'sep-2322-request-state-incomplete',
  ),
  'input-required-result-multiple-input-requests': FIXTURE_TOOL(
    'test_input_required_result_multiple_inputs',
    'sep-2322-multiple-inputs-incomplete',
  ),
  'input-required-result-multi-round': FIXTURE_TOOL(
    'test_input_required_result_multi_round',
    'sep-2322-multi-round-r1',
  ),
  'input-required-result-result-type': FIXTURE_TOOL(
    'test_input_required_result_elicitation',
    'sep-2322-result-type-included',
  ),
  'input-required-result-tampered-state': FIXTURE_TOOL(
    'test_input_required_result_tampered_state',
    'sep-2322-reject-tampered-state',
  ),
  'input-required-result-capability-check': FIXTURE_TOOL(
    'test_input_required_result_capabilities',
    'sep-2322-respect-client-capabilities',
  ),
  'input-required-result-non-tool-request': FIXTURE(
    'prompt `test_input_required_result_prompt`',
    'sep-2322-non-tool-incomplete',
  ),
  'resources-read-text': FIXTURE('resource `test://static-text`', 'resources-read-text'),
  'resources-read-binary': FIXTURE('resource `test://static-binary`', 'resources-read-binary'),
  'resources-templates-read': FIXTURE('resource `test://template/{id}/data`', 'resources-templates-read'),
  'resources-subscribe': METHOD('`resources/subscribe`', 'resources-subscribe'),
  'resources-unsubscribe': METHOD('`resources/subscribe`', 'resources-unsubscribe'),
  'prompts-get-simple': FIXTURE('prompt `test_simple_prompt`', 'prompts-get-simple'),
  'prompts-get-with-args': FIXTURE('prompt `test_prompt_with_arguments`', 'prompts-get-with-args'),
  'prompts-get-embedded-resource': FIXTURE(
    'prompt `test_prompt_with_embedded_resource`',
    'prompts-get-embedded-resource',
  ),
  'prompts-get-with-image': FIXTURE('prompt `test_prompt_with_image`', 'prompts-get-with-image'),
  'completion-complete': FIXTURE('prompt `test_prompt_with_arguments`', 'completion-complete'),
  'logging-set-level': METHOD('`logging/setLevel`', 'logging-set-level'),
};

/** The scenarios that must have successful checks in a revision, so that a run without checks does not pass. */
export const MUST_PASS: Readonly<Record<string, readonly string[]>> = {
  '2025-06-18': ['server-initialize', 'ping', 'tools-list', 'resources-list', 'prompts-list'],
  '2025-11-25': [
    'server-initialize',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
  '2026-07-28': [
    'tools-list',
    'resources-list',
    'prompts-list',
    'caching',
    'server-sse-multiple-streams',
    'sep-2164-resource-not-found',
    'dns-rebinding-protection',
    'http-header-validation',
    'input-required-result-unsupported-methods',
  ],
};
