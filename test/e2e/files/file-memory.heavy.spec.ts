import { describeFileMemory } from './file-memory.harness';

describeFileMemory(128, 100, 2);
