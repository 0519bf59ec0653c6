# The devices of the lab's machine.
CONFIG_Q35=y
CONFIG_ISA_DEBUG=y
CONFIG_WDT_IB700=y
