import { describeFileMemory } from './file-memory.harness';

describeFileMemory(64, 20, 2);
