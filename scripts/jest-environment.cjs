// jest's environment for Node, with one difference: a test file runs in the worker's own realm instead of a new one, so that
// all files of a worker share the modules of the application (see jest-runtime.cjs). Changes that a test file or jest makes
// to the process are undone after the file.
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');
const leftovers = require('../dist/libs/testing/leftovers.js');

/** Globals in which jest keeps the state of one test file: its tests, handlers, timeout and retries. */
const JEST_STATE = /^JEST_|^TEST_TIMEOUT|^EVENT_HANDLERS$|^RETRY_|^WAIT_BEFORE_RETRY$|^LOG_ERRORS/;

module.exports = class {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.before = { console, exit: process.exit, environment: { ...process.env }, directory: process.cwd() };
    Error.stackTraceLimit = 100;
  }

  async setup() {}

  async handleTestEvent({ name, test }) {
    if (name === 'run_start') leftovers.beginFile(); // after the modules of the file are loaded
    if (name === 'test_done') leftovers.endTest(test.name);
    if (name === 'run_finish') await leftovers.endFile();
  }

  async teardown() {
    this.fakeTimersModern.dispose();
    const { console, exit, environment, directory } = this.before;
    globalThis.console = console;
    process.exit = exit;
    process.chdir(directory);
    for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
    Object.assign(process.env, environment);
    for (const key of Object.getOwnPropertySymbols(globalThis)) {
      if (JEST_STATE.test(key.description)) delete globalThis[key];
    }
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** jest requires a context, but scripts run in the realm itself. */
  getVmContext() {
    return globalThis;
  }
};
