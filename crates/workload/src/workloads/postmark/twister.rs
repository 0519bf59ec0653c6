//! PostMark's random numbers: MT19937 (Matsumoto, Nishimura 1998, ACM TOMACS 8(1)), seeded
//! as in their integer version of 1999, by a linear congruential generator of factor 69069.
//! Today's libraries seed otherwise and would give another workload.

const STATE: usize = 624;
const SHIFT: usize = 397;

/// The generator.
#[derive(Clone)]
pub(super) struct Twister {
    state: [u32; STATE],
    next: usize,
}

impl Twister {
    pub(super) fn new(seed: u32) -> Twister {
        let mut linear = seed;
        let mut upper_half = || {
            let half = linear >> 16;
            linear = linear.wrapping_mul(69069).wrapping_add(1);
            half
        };
        let state = std::array::from_fn(|_| upper_half() << 16 | upper_half());
        Twister { state, next: STATE }
    }

    fn number(&mut self) -> u32 {
        if self.next == STATE {
            for at in 0..STATE {
                let joined =
                    (self.state[at] & 0x8000_0000) | (self.state[(at + 1) % STATE] & 0x7fff_ffff);
                let twist = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[at] = self.state[(at + SHIFT) % STATE] ^ (joined >> 1) ^ twist;
            }
            self.next = 0;
        }
        let mut number = self.state[self.next];
        self.next += 1;
        number ^= number >> 11;
        number ^= (number << 7) & 0x9d2c_5680;
        number ^= (number << 15) & 0xefc6_0000;
        number ^ (number >> 18)
    }

    /// A number below `bound` by remainder, as PostMark draws; 0 for 0, without a draw.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        if bound == 0 { 0 } else { self.number() % bound }
    }
}
