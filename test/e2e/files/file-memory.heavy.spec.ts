import { describeFileMemory } from './file-memory.harness';

describeFileMemory(256, 100, 5);
